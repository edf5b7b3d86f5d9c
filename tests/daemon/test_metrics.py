"""What Prometheus is told by a running daemon (spec/operator.md 5.2)."""

from __future__ import annotations

import time

import pytest

from mco.api import names
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine
from tests.daemon.test_update import FIRST, SECOND, joined
from tests.scrape import ask, exposed, families, series

pytestmark = pytest.mark.asyncio(loop_scope="module")

# spec/operator.md 5.2: type and labels
TABLE = {
    "mcd_host_os_and_version": ("gauge", {"os", "version"}),
    "mcd_state": ("gauge", {"state", "reason"}),
    "mcd_update_state": ("gauge", {"config", "err"}),
    "mcd_config_drift": ("gauge", set()),
    "mcd_reboots_failed": ("counter", set()),
}


async def scraped(machine: Machine) -> str:
    async with exposed(lambda: machine.families()) as url:
        return (await ask(url)).body


async def test_a_node_that_has_its_config(cluster: Cluster, machine: Machine) -> None:
    began = time.time()
    await joined(cluster, machine)
    text = await scraped(machine)
    found = families(text)
    assert {name: metric.type for name, metric in found.items()} == {n: row[0] for n, row in TABLE.items()}
    for name, metric in found.items():
        assert {frozenset(sample.labels) for sample in metric.samples} == {frozenset(TABLE[name][1])}
    values = series(text)
    assert began <= values.pop(("mcd_state", "", names.STATE_DONE)) <= time.time()
    assert began <= values.pop(("mcd_update_state", "MachineConfig: rendered-worker-1", "")) <= time.time()
    assert values == {
        ("mcd_host_os_and_version", "DEBIAN", "12"): 1.0,
        ("mcd_config_drift",): 0.0,
        ("mcd_reboots_failed_total",): 0.0,
    }


async def test_a_disk_that_was_changed(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine, SECOND)
    began = time.time()
    machine.root.write("/etc/motd", b"by hand\n", mode=0o640)
    await cluster.create(FIRST)
    await cluster.target(machine.name, FIRST)
    reason = await cluster.degraded(machine.name, "content mismatch")
    values = series(await scraped(machine))
    assert began <= values["mcd_config_drift",] <= time.time()
    assert [key for key in values if key[0] == "mcd_state"] == [("mcd_state", reason, "Degraded")]
    machine.root.write(names.FORCE_FILE, b"")
    await cluster.done(machine.name, FIRST)
    assert series(await scraped(machine))["mcd_config_drift",] == 0


async def test_a_reboot_that_is_refused(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    machine.refuses_reboots = True
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    reason = await cluster.degraded(machine.name, "the machine refuses")
    values = series(await scraped(machine))
    assert values["mcd_reboots_failed_total",] >= 1
    assert [key for key in values if key[0] == "mcd_update_state"] == [("mcd_update_state", "", reason)]
