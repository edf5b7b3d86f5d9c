"""What an update costs the API server, and the states that a watcher sees in it, in their order."""

from __future__ import annotations

import pytest

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.plan.node.observation import view
from tests.daemon.builders import config, file
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIRST, SECOND = config("1"), config("2", files=[file("/etc/motd", "hello\n")], arguments=["demo=1"])
OLD, NEW = FIRST["metadata"]["name"], SECOND["metadata"]["name"]


_DRAINS = {"Cordoned", "Drained", "Uncordoned", "UpdateExecuted", "UpdateComplete"}


class Writes:
    """The daemon's writes about one node: of its Node what it says, of its report which conditions came to
    be what. A drain controller that had to wait says something of its own, which does not count."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._name = name
        self.node: list[tuple[str, str, str, str]] = []
        self.boots: list[str] = []
        self.report: list[set[str]] = []
        self.resumed = ""
        cluster.nodes.add_handler(self._node)
        cluster.reports.add_handler(self._report)

    def _node(self, old: Node | None, new: Node | None) -> None:
        if old is None or new is None or new.name != self._name:
            return
        booted = old.status != new.status
        if booted or _said(old) != _said(new):
            self.node.append(_said(new))
        if booted:
            self.boots.append(new.status.node_info.boot_id)

    def _report(self, old: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
        if old is None or new is None or new.name != self._name:
            return
        before = {c.type: c.status for c in old.status.conditions}
        changed = {c.type: c.status for c in new.status.conditions if before.get(c.type) != c.status}
        if changed.get("Resumed") == "True":
            self.resumed = next(c.message for c in new.status.conditions if c.type == "Resumed")
        if not changed.keys() <= _DRAINS:
            self.report.append({f"{type_} {status}" for type_, status in changed.items()})


def _said(node: Node) -> tuple[str, str, str, str]:
    seen = view(node)
    return seen.state, seen.current, seen.desired_drain, seen.post_config_action


async def test_an_update_with_drain_and_reboot_is_told_in_eight_writes(
    cluster: Cluster, machine: Machine
) -> None:
    await cluster.create(FIRST, SECOND)
    await cluster.report_of(machine.name)
    machine.serve(FIRST)
    await machine.start()
    await cluster.done(machine.name, FIRST)
    writes = Writes(cluster, machine.name)
    await cluster.target(machine.name, SECOND)
    await cluster.done(machine.name, SECOND)
    drain, uncordon = f"drain-{NEW}", f"uncordon-{NEW}"
    assert writes.node == [
        (names.STATE_WORKING, OLD, drain, ""),
        (names.STATE_WORKING, OLD, drain, names.REBOOTING),
        (names.STATE_WORKING, OLD, uncordon, ""),
        (names.STATE_DONE, NEW, uncordon, ""),
    ]
    assert writes.boots == [machine.machine.host.boot_id()], "of the new boot, along with one of the four"
    prepared, applied, resumed, updated = writes.report
    assert prepared == {"UpdatePrepared True", "Updated False"}
    assert applied >= {"UpdateExecuted True", "AppliedFilesAndOS True", "RebootedNode Unknown"}
    assert resumed == {"RebootedNode True", "Resumed True"}
    assert (
        writes.resumed == f"In desired config {NEW}. Resumed normal operations. Applying proper annotations."
    )
    assert updated >= {"Updated True", "UpdatePrepared False", "Resumed False", "RebootedNode False"}
