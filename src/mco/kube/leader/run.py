"""One component under its lease, from the start of the process to its end (spec/operator.md 2.1, 2.2)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mco.api import names
from mco.api.resources import INFRASTRUCTURES, NODES
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import NotFoundError, describe
from mco.kube.leader.elector import Elector, Work
from mco.kube.leader.identity import this_process
from mco.kube.leader.lock import Lock
from mco.kube.leader.timings import HIGHLY_AVAILABLE, Timings, for_topology
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_INFRASTRUCTURE = "cluster"
_CONTROL_PLANE_ROLES = ("control-plane", names.MASTER)

_log = Logger("mco.leader")


async def lead(client: Client, lease: str, work: Work, clock: Clock, given: Mapping[str, float]) -> None:
    """Runs `work` while this process holds `lease` in our namespace; see `Elector.lead`. `given` seconds, by
    the names of `Timings`, are in force whatever the topology. Raises InvalidInput when they do not fit."""
    me = await this_process(client)
    lock = Lock(client, names.NAMESPACE, lease, clock)
    in_force = msgspec.structs.replace(await timings(client), **given)
    await Elector(lock, client, me, timings=in_force, clock=clock).lead(work)


async def timings(client: Client) -> Timings:
    """The control plane's topology decides: as Infrastructure says, or where there is no such kind, by the
    number of control-plane nodes. What cannot be read counts as highly available."""
    try:
        return for_topology(await _topology(client))
    except MCOError as error:
        _log.warning("topology not known; the lease is a highly available one's", **describe(error))
        return HIGHLY_AVAILABLE


async def _topology(client: Client) -> str:
    try:
        found = await client.get(INFRASTRUCTURES, _INFRASTRUCTURE)
    except NotFoundError:
        nodes = {
            node.name
            for role in _CONTROL_PLANE_ROLES
            for node in (await client.list(NODES, label_selector=names.NODE_ROLE_PREFIX + role)).items
        }
        return "SingleReplica" if len(nodes) == 1 else ""
    return found.status.control_plane_topology
