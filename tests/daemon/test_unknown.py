"""A node whose config the cluster never had: installed by an older payload, or by a bootstrap that rendered
something else (spec/operator.md 0.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.machineconfignode import CONFIG_UNKNOWN, MachineConfigNode
from mco.api.meta import conditions as cond
from mco.api.resources import MACHINE_CONFIGS
from tests.daemon.builders import config, file
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine

pytestmark = pytest.mark.asyncio(loop_scope="module")

INSTALLED = config(
    "installed",
    files=[file("/etc/motd", "secret 1\n"), file("/etc/old", "x"), file("/etc/same", "same")],
    arguments=["old=1"],
)
WANTED = config(
    "wanted",
    files=[file("/etc/motd", "secret 2\n"), file("/etc/same", "same"), file("/etc/new", "x")],
    arguments=["new=1"],
)


class Said:
    """What the node's report said about a config that the cluster does not have, each change of it."""

    def __init__(self, node: str) -> None:
        self._node = node
        self.all: list[tuple[str, str]] = []

    def __call__(self, _: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
        if new is not None and new.name == self._node:
            found = cond.find(new.status.conditions, CONFIG_UNKNOWN)
            if found is not None and (found.status, found.message) not in self.all:
                self.all.append((found.status, found.message))


async def served(cluster: Cluster, machine: Machine, body: Mapping[str, Any]) -> None:
    """The machine as a config server leaves it, which the cluster knows nothing of."""
    await cluster.report_of(machine.name)
    machine.root.write(names.SERVED_CONFIG_FILE, msgspec.json.encode(body), mode=0o600)
    machine.serve(body)
    await machine.start()


async def test_its_own_copy_is_the_base_of_the_update(cluster: Cluster, machine: Machine) -> None:
    said = Said(machine.name)
    cluster.reports.add_handler(said)
    await served(cluster, machine, INSTALLED)
    await cluster.done(machine.name, INSTALLED)
    await cluster.create(WANTED)
    await cluster.target(machine.name, WANTED)
    await cluster.done(machine.name, WANTED)
    assert machine.reboots == 1
    assert machine.read("/etc/motd") == "secret 2\n"
    assert not machine.root.exists("/etc/old")
    assert "old=1" not in machine.machine.host.kernel.running()
    assert set(cluster.states[machine.name]) == {"", names.STATE_DONE, names.STATE_WORKING}
    status, message = said.all[0]
    assert status == cond.TRUE
    assert message == (
        "The cluster does not have rendered-worker-installed; by the node's own copy rendered-worker-wanted "
        "differs in: kernel arguments, file /etc/motd, file /etc/new, file /etc/old"
    )
    await cluster.until(lambda: cluster.condition(machine.name, CONFIG_UNKNOWN) == cond.FALSE, "settled")
    assert "secret" not in str(said.all)


async def test_it_may_be_told_where_to_go_before_it_has_joined(cluster: Cluster, machine: Machine) -> None:
    """Nobody waits for its first report: the pool's target is there already when its daemon starts."""
    await cluster.create(WANTED)
    await served(cluster, machine, INSTALLED)
    await cluster.until(lambda: bool(cluster.annotation(machine.name, names.DESIRED_CONFIG)), "registered")
    await cluster.target(machine.name, WANTED)
    await cluster.done(machine.name, WANTED)
    assert machine.reboots == 1
    assert names.STATE_DEGRADED not in cluster.states[machine.name]


async def test_the_note_of_another_daemon_is_a_copy_too(cluster: Cluster, machine: Machine) -> None:
    """A node that was taken over: nothing of ours is on it, and the cluster has forgotten where it is."""
    old = config("taken-over", files=[file("/etc/old", "x")])
    await cluster.report_of(machine.name)
    machine.serve(old)
    machine.root.remove(names.NODE_ANNOTATIONS_FILE)
    machine.root.write(names.CURRENT_CONFIG_FILE, msgspec.json.encode(old), mode=0o600)
    await machine.start()
    await cluster.done(machine.name, old)
    await cluster.create(WANTED)
    await cluster.target(machine.name, WANTED)
    await cluster.done(machine.name, WANTED)
    assert not machine.root.exists("/etc/old")
    assert machine.reboots == 1
    assert names.STATE_DEGRADED not in cluster.states[machine.name]


async def test_a_lost_config_disturbs_no_restart(cluster: Cluster, machine: Machine) -> None:
    lost = config("lost-at-rest", files=[file("/etc/old", "x")])
    await cluster.create(lost)
    await cluster.report_of(machine.name)
    machine.serve(lost)
    await machine.start()
    await cluster.done(machine.name, lost)
    await machine.stop()
    await cluster.client.delete(MACHINE_CONFIGS, lost["metadata"]["name"])
    machine.boot()
    boot_id = machine.machine.host.boot_id()
    await machine.start()
    await cluster.until(lambda: cluster.get(machine.name).status.node_info.boot_id == boot_id, "started")
    await cluster.create(WANTED)
    await cluster.target(machine.name, WANTED)
    await cluster.done(machine.name, WANTED)
    assert names.STATE_DEGRADED not in cluster.states[machine.name]


async def test_a_config_that_the_cluster_has_is_not_listed(cluster: Cluster, machine: Machine) -> None:
    known = config("known", files=[file("/etc/old", "x")])
    await cluster.create(known, WANTED)
    await served(cluster, machine, known)
    await cluster.done(machine.name, known)
    await cluster.target(machine.name, WANTED)
    await cluster.done(machine.name, WANTED)
    assert cluster.condition(machine.name, CONFIG_UNKNOWN) == ""


async def test_without_a_copy_it_says_what_is_missing_and_heals(cluster: Cluster, machine: Machine) -> None:
    lost = config("lost", arguments=["old=1"])
    await cluster.report_of(machine.name)
    machine.serve(lost)
    await machine.start()
    await cluster.degraded(machine.name, "rendered-worker-lost")
    await cluster.client.create(MACHINE_CONFIGS, lost)
    await cluster.done(machine.name, lost)
    assert machine.reboots == 0
