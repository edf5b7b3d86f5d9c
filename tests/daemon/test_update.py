"""A node from its first config through updates, on a directory-rooted host and the embedded API server."""

from __future__ import annotations

from mco.api import names
from tests.daemon.builders import config, file, service, unit
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine

FIRST = config("1")
SECOND = config(
    "2",
    files=[file("/etc/motd", "hello\n", 0o640)],
    units=[
        unit("demo.service", service(1), enabled=True, dropins={"10-demo.conf": "[Unit]\nWants=x.service\n"})
    ],
    arguments=["demo=1"],
)


async def joined(cluster: Cluster, machine: Machine, config_: dict[str, object] = FIRST) -> None:
    await cluster.create(config_)
    await cluster.report_of(machine.name)
    machine.serve(config_)
    await machine.start()
    await cluster.done(machine.name, config_)


async def test_first_config_is_verified_and_done(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    boot_id = machine.machine.host.boot_id()
    await cluster.until(lambda: cluster.get(machine.name).status.node_info.boot_id == boot_id, "boot id")
    assert cluster.get(machine.name).metadata.label(names.HOSTNAME_LABEL) == machine.name
    assert not machine.root.exists(names.NODE_ANNOTATIONS_FILE)
    assert machine.root.exists("/etc/machine-config-daemon/node-annotation.json.bak")
    assert FIRST["metadata"]["name"] in machine.read(names.CURRENT_CONFIG_FILE)
    assert machine.reboots == 0


async def test_update_with_reboot(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    await cluster.done(machine.name, SECOND)
    assert machine.reboots == 1
    assert machine.read("/etc/motd") == "hello\n"
    status = machine.root.stat("/etc/motd")
    assert status is not None
    assert status.permissions == 0o640
    assert machine.machine.host.systemd.is_enabled("demo.service") == "enabled"
    assert "demo=1" in machine.machine.host.kernel.running()
    assert names.STATE_WORKING in cluster.states
