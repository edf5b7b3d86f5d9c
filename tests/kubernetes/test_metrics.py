"""Metrics of daemons as Pods: over TLS, in their own image, for whoever may read them."""

from __future__ import annotations

import asyncio
import json

from mco.payload.source import monitoring
from mco.payload.source.metadata import DAEMON
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.marks import REAL
from tests.scrape import ask, families

pytestmark = REAL
_READER = {"name": "reader", "namespace": "default"}


def test_every_node_s_daemon_is_read(cluster: Cluster) -> None:
    role, binding = monitoring.reader().values()
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _READER}
    subjects = {"subjects": [{"kind": "ServiceAccount", **_READER}]}
    for body in (account, role, binding | subjects):
        cluster.kubectl("apply", "--filename=-", given=json.dumps(body))
    token = cluster.kubectl("create", "token", _READER["name"]).strip()
    for pod in cluster.pods(DAEMON):
        url = f"https://{pod['status']['hostIP']}:{monitoring.PORT}/metrics"
        assert asyncio.run(ask(url, Authorization="Bearer none")).status == 401
        answer = asyncio.run(ask(url, Authorization=f"Bearer {token}"))
        assert (answer.status, "mcd_state" in families(answer.body)) == (200, True)
