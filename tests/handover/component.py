"""A component with nothing to do but to lead: it reports its version as a ClusterOperator, where it is given
one.

With `--termination-log` it speaks for the container that the environment names, as a container's first
process does.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from mco.api import names
from mco.cli.options import Seconds
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.leader.elector import Elector
from mco.kube.leader.identity import TERMINATION_LOG, this_process
from mco.kube.leader.lock import Lock
from mco.kube.leader.timings import HIGHLY_AVAILABLE, Timings
from mco.kube.requests import PatchKind
from mco.runtime import logging
from mco.runtime.clock import SystemClock
from mco.runtime.logging import Logger
from mco.runtime.supervise import supervise

CLUSTER_OPERATOR = "/apis/config.openshift.io/v1/clusteroperators/machine-config"
_NOW = "2026-11-30T12:00:00Z"
_FIRST = 1

_log = Logger("tests.handover")


@click.command()
@click.option("--kubeconfig", type=Path, required=True)
@click.option("--version", default="")
@click.option("--termination-log", type=Path)
@click.option("--leader-elect-lease-duration", "lease", type=Seconds(), default=HIGHLY_AVAILABLE.lease)
@click.option("--leader-elect-renew-deadline", "renew", type=Seconds(), default=HIGHLY_AVAILABLE.renew)
@click.option("--leader-elect-retry-period", "retry", type=Seconds(), default=HIGHLY_AVAILABLE.retry)
def main(
    kubeconfig: Path, version: str, termination_log: Path | None, lease: float, renew: float, retry: float
) -> None:
    logging.configure("info")
    timings = Timings(lease=lease, renew=renew, retry=retry)
    asyncio.run(_run(kubeconfig, version, termination_log, timings))


async def _run(kubeconfig: Path, version: str, termination_log: Path | None, timings: Timings) -> None:
    clock = SystemClock()
    async with Client(load(kubeconfig)) as client:
        pid = os.getpid() if termination_log is None else _FIRST
        log = termination_log or TERMINATION_LOG
        me = await this_process(client, os.environ, pid=pid, termination_log=log)
        lock = Lock(client, names.NAMESPACE, names.OPERATOR_LEASE, clock)
        elector = Elector(lock, client, me, timings=timings, clock=clock)
        await supervise({"component": partial(elector.lead, partial(_work, version))})


async def _work(version: str, client: Client) -> None:
    if version:
        await _report(client, version)
        _log.info("version reported", version=version)
    await asyncio.Event().wait()


async def _report(client: Client, version: str) -> None:
    found = msgspec.json.decode(await client.request("GET", CLUSTER_OPERATOR))
    said = {"Available": "True", "Progressing": "False", "Degraded": "False"}
    conditions = [{"type": t, "status": s, "lastTransitionTime": _NOW} for t, s in said.items()]
    body: dict[str, Any] = {
        "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
        "status": {"conditions": conditions, "versions": [{"name": "operator", "version": version}]},
    }
    await client.request("PATCH", f"{CLUSTER_OPERATOR}/status", body=body, content_type=PatchKind.MERGE)


if __name__ == "__main__":
    main()
