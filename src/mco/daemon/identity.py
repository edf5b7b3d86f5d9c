"""Who the node is to the API server: a client certificate of its own (design.md 10, identity).

First boot brings a kubeconfig with a bootstrap token. With it the daemon asks for a certificate over a key
that never leaves the machine, waits until somebody approves, and keeps the result as the node's kubeconfig,
0600. The key is on the disk before the request is sent, and the request is named after the key: a restart
anywhere in between goes on with the same one. At 70 % of the certificate's life a new one is asked for with
the old one.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

from mco.api import names
from mco.base.errors import InvalidInput, MCOError
from mco.host.root import Root
from mco.kube import config as kubeconfigs
from mco.kube.client import Client
from mco.kube.config import Cluster
from mco.pki import validity
from mco.pki.validity import Certificate
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.identity")

RENEW_AT = 0.7
_RECHECK = 3600.0


class Denied(MCOError):
    """Somebody decided that this machine is not that node; a person has to look at it."""


def load(root: Root, path: str) -> Cluster | None:
    """The cluster of a kubeconfig on the machine, None when there is none. Raises InvalidInput."""
    raw = root.read_optional(path)
    if raw is None:
        return None
    return kubeconfigs.resolve(kubeconfigs.merge([kubeconfigs.parse(raw, Path(path))]))


def certificate(cluster: Cluster) -> Certificate | None:
    """Of a node's own kubeconfig; None when it proves itself in another way."""
    return validity.read(cluster.user.certificate.read()) if cluster.user.certificate else None


def renewal(found: Certificate) -> datetime:
    return found.begins + (found.ends - found.begins) * RENEW_AT


def lasts(found: Certificate, now: datetime) -> bool:
    """A clock that stands before the beginning says nothing about the end."""
    return now < found.ends


class NodeIdentity:
    """Finds or makes the kubeconfig of the node called `name`. `machine_id` goes with every request: a name
    that another living machine has is not given away. `enrolled`: this process has made a key."""

    def __init__(self, root: Root, name: str, machine_id: str, clock: Clock) -> None:
        self._root = root
        self._name = name
        self._machine_id = machine_id
        self.enrolled = False
        self._clock = clock

    async def obtain(self, *, fresh: bool = False) -> Cluster:
        """The node's own identity; asks for one where there is none that lasts, or, with `fresh`, because the
        server does not accept it any more. Raises InvalidInput without any kubeconfig, Denied, and what the
        client raises."""
        own = self._own()
        if own is not None and not (fresh and self._root.exists(names.KUBECONFIG_FILE)):
            return own
        bootstrap = load(self._root, names.KUBECONFIG_FILE)
        if bootstrap is None:
            raise InvalidInput(
                "the node has no kubeconfig",
                path=names.KUBECONFIG_FILE,
                hint="let the machine boot with a config of the config server, or pass --kubeconfig",
            )
        _log.info("asking for a certificate", node=self._name)
        async with Client(bootstrap, user_agent="mco-daemon") as client:
            return await self._request(client, bootstrap)

    async def renewed(self, client: Client, cluster: Cluster) -> Cluster:
        """Returns with a new identity when the present one is old enough; never for one that has no
        certificate of ours."""
        while True:
            found = certificate(cluster)
            if found is None:
                await asyncio.Event().wait()
                continue
            wait = (renewal(found) - self._clock.now()) / timedelta(seconds=1)
            if wait <= 0:
                try:
                    return await self._request(client, cluster)
                except Denied:
                    raise
                except MCOError as error:
                    _log.warning("certificate not renewed", node=self._name, error=str(error))
                    wait = 60.0
            # In pieces: the wall clock may be set meanwhile.
            await self._clock.sleep(min(wait, _RECHECK))

    def _own(self) -> Cluster | None:
        try:
            cluster = load(self._root, names.NODE_KUBECONFIG_FILE)
        except InvalidInput as error:
            _log.warning("the node's kubeconfig is damaged, asking for a new one", error=str(error))
            return None
        if cluster is None:
            return None
        found = certificate(cluster)
        if found is None:
            return cluster
        if not lasts(found, self._clock.now()) and self._root.exists(names.KUBECONFIG_FILE):
            _log.warning("the node's certificate has expired", node=self._name)
            return None
        return cluster

    async def _request(self, client: Client, cluster: Cluster) -> Cluster:
        # Here and not above: an idle daemon does without everything that makes keys.
        from mco.daemon import enrolment

        self.enrolled = True
        raw = await enrolment.enrol(client, cluster, self._root, self._name, self._machine_id)
        self._root.write(names.NODE_KUBECONFIG_FILE, raw, mode=0o600, dir_mode=0o755)
        self._root.remove(enrolment.KEY_FILE)
        _log.info("certificate received", node=self._name)
        found = load(self._root, names.NODE_KUBECONFIG_FILE)
        if found is None:
            raise InvalidInput("the node's kubeconfig vanished", path=names.NODE_KUBECONFIG_FILE)
        return found
