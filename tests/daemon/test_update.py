"""A node from its first config through updates, on a directory-rooted host and the embedded API server."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.resources import MACHINE_CONFIGS
from tests.daemon.builders import SERVICE, config, file, service, unit
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIRST = config("1")
SECOND = config(
    "2",
    files=[file("/etc/motd", "hello\n", 0o640)],
    units=[
        unit("demo.service", service(1), enabled=True, dropins={"10-demo.conf": "[Unit]\nWants=x.service\n"})
    ],
    arguments=["demo=1"],
)


async def joined(cluster: Cluster, machine: Machine, config_: dict[str, Any] = FIRST) -> None:
    """A node that has joined with a config, written as Ignition would."""
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
    assert names.STATE_WORKING in cluster.states[machine.name]


async def test_update_without_a_reboot(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    quiet = config("quiet", keys=["ssh-ed25519 AAAA one"])
    await cluster.create(quiet)
    await cluster.target(machine.name, quiet)
    await cluster.done(machine.name, quiet)
    assert machine.reboots == 0
    assert machine.read("/home/core/.ssh/authorized_keys.d/ignition") == "ssh-ed25519 AAAA one\n"
    assert cluster.condition(machine.name, "RebootedNode") == "False"
    await cluster.event(machine.name, "SkipReboot")
    await cluster.event(machine.name, "NodeDone")
    assert not cluster.reasons(machine.name) & {"Reboot", "Drain", "Cordon"}


async def test_services_are_told_as_the_policies_say(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    reloadable = SERVICE.format("crio").replace("[Service]", "[Service]\nExecReload=/bin/true")
    machine.root.write("/usr/lib/systemd/system/crio.service", reloadable.encode())
    machine.machine.host.systemd.start("crio.service")
    changed = config("policy", files=[file("/etc/containers/policy.json", "{}")])
    await cluster.create(changed)
    await cluster.target(machine.name, changed)
    await cluster.done(machine.name, changed)
    assert machine.reboots == 0
    await cluster.event(machine.name, "ServiceReload")


async def test_a_failing_service_undoes_the_update(cluster: Cluster, machine: Machine) -> None:
    """Nothing is there to reload, so that the update goes back and the node says why."""
    await joined(cluster, machine)
    changed = config("policy", files=[file("/etc/containers/policy.json", "{}")])
    await cluster.create(changed)
    await cluster.target(machine.name, changed)
    await cluster.degraded(machine.name, "crio.service")
    assert not machine.root.exists("/etc/containers/policy.json")
    await cluster.event(machine.name, "FailedServiceReload")


async def test_a_failing_action_undoes_the_others_and_heals_when_withdrawn(
    cluster: Cluster, machine: Machine
) -> None:
    await joined(cluster, machine, SECOND)
    before = tree(machine)
    machine.root.write("/srv/held/by-somebody", b"x")
    broken = config("broken", files=[file("/etc/motd", "other\n"), file("/srv/held", "x")])
    await cluster.create(broken)
    await cluster.target(machine.name, broken)
    reason = await cluster.degraded(machine.name, "write /srv/held: is a directory")
    assert "move the directory away" in reason
    await cluster.until(lambda: cluster.condition(machine.name, "NodeDegraded") == "True", "NodeDegraded")
    await cluster.target(machine.name, SECOND)
    await cluster.done(machine.name, SECOND)
    machine.root.remove_tree("/srv")
    assert tree(machine) == before
    assert machine.reboots == 0
    assert not cluster.get(machine.name).spec.unschedulable


async def test_a_failed_update_succeeds_when_its_cause_is_gone(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    machine.root.write("/srv/held/by-somebody", b"x")
    wanted = config("held", files=[file("/srv/held", "x")])
    await cluster.create(wanted)
    await cluster.target(machine.name, wanted)
    await cluster.degraded(machine.name, "/srv/held")
    machine.root.remove_tree("/srv/held")
    await cluster.done(machine.name, wanted)
    assert machine.reboots == 1


async def test_a_change_that_a_running_node_cannot_follow(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    wrong = config("groups", ignition={"passwd": {"groups": [{"name": "g"}]}})
    await cluster.create(wrong)
    await cluster.target(machine.name, wrong)
    text = "invalid passwd change(s): ignition Passwd Groups section contains changes"
    reason = await cluster.degraded(machine.name, text, names.STATE_UNRECONCILABLE)
    assert reason.startswith('new machineconfig "rendered-worker-1" is not reconcilable against')
    assert cluster.condition(machine.name, "UpdatePrepared") == "Unknown"
    await cluster.event(machine.name, "FailedToReconcile")
    await cluster.target(machine.name, FIRST)
    await cluster.done(machine.name, FIRST)


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        (config("b1", files=[file("/proc/x", "")]), "/proc/x belongs to"),
        (config("b2", files=[file("/var/lib/machine-config-daemon/x", "")]), "own state"),
        (config("b3", files=[file("/var/lib/kubelet/kubeconfig", "")]), "own state"),
        (config("b4", units=[unit("../x.service", "[Unit]\n")]), "unit name"),
        (config("b5", arguments=["a\nb"]), "kernelArguments.0: kernel argument contains a line break"),
        (config("b6", keys=["ssh-ed25519 A\nssh-ed25519 B"]), "SSH key contains a line break"),
        (config("b7", files=[file("/etc/x", "", user={"name": "nobody-here"})]), "nobody-here"),
        (config("b8", files=[file("/etc/hostname/x", "")]), "/etc/hostname"),
        (config("b9", files=[file("/link/x", "")]), "/link/x"),
    ],
)
async def test_bad_configs_change_nothing(
    cluster: Cluster, machine: Machine, wrong: dict[str, Any], part: str
) -> None:
    machine.root.symlink("/link", "/nowhere/at/all")
    await joined(cluster, machine)
    before = tree(machine)
    await cluster.create(wrong)
    await cluster.target(machine.name, wrong)
    await cluster.until(
        lambda: part in cluster.annotation(machine.name, names.REASON), f"{part} in the reason"
    )
    assert tree(machine) == before
    await cluster.target(machine.name, FIRST)
    await cluster.done(machine.name, FIRST)
    assert machine.reboots == 0


async def test_the_target_changes_again_during_a_drain(cluster: Cluster, machine: Machine) -> None:
    """The node follows the last one, whatever it had begun."""
    await joined(cluster, machine)
    third = config("3", files=[file("/etc/motd", "third\n")])
    await cluster.create(SECOND, third)
    await cluster.target(machine.name, SECOND)
    await cluster.target(machine.name, third)
    await cluster.done(machine.name, third)
    assert machine.read("/etc/motd") == "third\n"
    assert machine.reboots in (1, 2)


async def test_an_originals_contents_come_back(cluster: Cluster, machine: Machine) -> None:
    machine.root.write("/etc/motd", b"shipped\n", mode=0o600)
    await joined(cluster, machine)
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    await cluster.done(machine.name, SECOND)
    await cluster.target(machine.name, FIRST)
    await cluster.done(machine.name, FIRST)
    assert machine.read("/etc/motd") == "shipped\n"
    assert "demo=1" not in machine.machine.host.kernel.running()
    assert machine.machine.host.systemd.is_enabled("demo.service") == "not-found"


async def test_drift_stops_an_update_until_it_is_corrected(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine, SECOND)
    third = config("3", files=[file("/etc/motd", "third\n")])
    await cluster.create(third)
    machine.root.write("/etc/motd", b"by hand\n", mode=0o640)
    await cluster.target(machine.name, third)
    reason = await cluster.degraded(machine.name, 'content mismatch for file "/etc/motd"')
    assert "by hand" not in reason
    await cluster.event(machine.name, "PreflightConfigDriftCheckFailed")
    machine.root.write("/etc/motd", b"hello\n", mode=0o640)
    await cluster.done(machine.name, third)


async def test_the_force_file_goes_over_drift(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine, SECOND)
    third = config("3", files=[file("/etc/motd", "third\n")])
    await cluster.create(third)
    machine.root.write("/etc/motd", b"by hand\n", mode=0o640)
    await cluster.target(machine.name, third)
    await cluster.degraded(machine.name, "content mismatch")
    machine.root.write(names.FORCE_FILE, b"")
    await cluster.done(machine.name, third)
    assert not machine.root.exists(names.FORCE_FILE)
    assert machine.reboots >= 1


async def test_kernel_arguments_that_do_not_take(cluster: Cluster, machine: Machine) -> None:
    """Two tries, then the exact difference; withdrawn, the node heals."""
    await joined(cluster, machine)
    machine.ignores_entries = True
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    reason = await cluster.degraded(machine.name, "missing: demo=1")
    assert "unexpected on-disk state validating against rendered-worker-2" in reason
    assert machine.reboots == 2
    await cluster.target(machine.name, FIRST)
    await cluster.done(machine.name, FIRST)
    assert not machine.root.exists("/etc/motd")


async def test_a_reboot_that_does_not_happen(cluster: Cluster, machine: Machine) -> None:
    """It is asked for again, three times in all; withdrawn, the node goes back without one."""
    await joined(cluster, machine)
    await machine.stop()
    before = tree(machine)
    machine.ignores_reboots = True
    machine.settings = msgspec.structs.replace(machine.settings, reboot_patience=0.5)
    await machine.start()
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    text = "the machine did not reboot into rendered-worker-2, it was asked 3 times"
    await cluster.degraded(machine.name, text)
    await cluster.target(machine.name, FIRST)
    await cluster.done(machine.name, FIRST)
    assert tree(machine) == before


async def test_a_password_that_somebody_changed(cluster: Cluster, machine: Machine) -> None:
    """It is found before the next update, and never shown."""
    ours = {"passwd": {"users": [{"name": "core", "passwordHash": "$6$ours"}]}}
    locked = config("locked", ignition=ours)
    await joined(cluster, machine, locked)
    machine.machine.host.accounts.set_password_hash("core", "$6$theirs")
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    reason = await cluster.degraded(machine.name, 'password of user "core" differs')
    assert "$6$" not in reason
    machine.machine.host.accounts.set_password_hash("core", "$6$ours")
    await cluster.done(machine.name, SECOND)
    assert machine.machine.host.accounts.password_hash("core") == "*"


async def test_a_password_for_nobody_is_refused(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    machine.root.write("/etc/passwd", b"root:x:0:0:root:/root:/bin/bash\n")
    before = tree(machine)
    nobody = {"passwd": {"users": [{"name": "core", "passwordHash": "$6$ours"}]}}
    wanted = config("nobody", ignition=nobody)
    await cluster.create(wanted)
    await cluster.target(machine.name, wanted)
    await cluster.degraded(machine.name, "user: unknown user core")
    assert tree(machine) == before


async def test_a_deleted_config_is_no_obstacle(cluster: Cluster, machine: Machine) -> None:
    """The node has its own copy of what it runs (and was told to run)."""
    await joined(cluster, machine)
    await machine.stop()
    await cluster.client.delete(MACHINE_CONFIGS, "rendered-worker-1")
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    await machine.start()
    await cluster.done(machine.name, SECOND)


async def test_a_unit_that_fails_does_not_degrade_the_node(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    bad = unit(
        "bad.service", SERVICE.format("bad").replace("/usr/bin/sleep infinity", "/bin/false"), enabled=True
    )
    failing = config("units", units=[bad])
    await cluster.create(failing)
    await cluster.target(machine.name, failing)
    await cluster.done(machine.name, failing)
    await cluster.until(lambda: cluster.condition(machine.name, "UnitsFailed") == "True", "UnitsFailed")
    assert cluster.annotation(machine.name, names.STATE) == names.STATE_DONE
    await cluster.event(machine.name, "UnitFailed")


def tree(machine: Machine) -> dict[str, tuple[int, tuple[int, int], str, bytes]]:
    """Every file and link outside the daemon's own folders."""
    found = {}
    for path, status in machine.root.walk("/"):
        if path.startswith((names.STATE_FOLDER, "/run", "/proc")) or status.is_dir:
            continue
        data = machine.root.read(path, follow=False) if status.is_file else b""
        found[path] = (status.mode, status.owner, status.target, data)
    return found
