"""A user's policies from the MachineConfiguration to a machine's services, as `mco plan` foretells it."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api import names
from mco.api.resources import MACHINE_CONFIGURATIONS
from mco.operator.policies import keep
from mco.plan.node import policies
from mco.plan.preview.preview import Preview, preview
from tests.daemon.builders import config, file, service, typed, unit
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine
from tests.daemon.test_update import FIRST, joined

pytestmark = pytest.mark.asyncio(loop_scope="module")


def restart(service: str) -> dict[str, Any]:
    return {"type": "Restart", "restart": {"serviceName": service}}


POLICY = {
    "files": [
        {"path": "/etc/app", "actions": [restart("app.service")]},
        {"path": "/etc/app/deep", "actions": [{"type": "DaemonReload"}, restart("app.service")]},
        {"path": "/etc/quiet", "actions": [{"type": "None"}]},
        {"path": "/etc/drained", "actions": [{"type": "Drain"}, {"type": "DaemonReload"}]},
    ],
    "units": [{"name": "app.service", "actions": [{"type": "DaemonReload"}, restart("app.service")]}],
}


async def configured(cluster: Cluster, **spec: Any) -> None:
    """What a user writes, with what the operator makes of it."""
    patch = {"spec": spec}
    made = await cluster.client.patch(MACHINE_CONFIGURATIONS, names.MACHINE_CONFIGURATION, patch)
    await keep(cluster.client, made)


async def foretold(cluster: Cluster, new: dict[str, Any], old: dict[str, Any] = FIRST) -> Preview:
    found = await cluster.client.get(MACHINE_CONFIGURATIONS, names.MACHINE_CONFIGURATION)
    overrides = found.spec.irreconcilable_validation_overrides.storage
    return preview(typed(old), typed(new), policies.known(found), overrides)


def messages(cluster: Cluster, node: str) -> list[str]:
    """What events say of services, in the order in which it happened."""
    found = [event for event in cluster.events.store.values() if event.involved_object.name == node]
    told = [event for event in found if event.reason in ("ServiceReload", "ServiceRestart")]
    return [event.message for event in told]


async def test_each_action_once_and_in_order(cluster: Cluster, machine: Machine) -> None:
    await configured(cluster, nodeDisruptionPolicy=POLICY)
    app = config("app", units=[unit("app.service", service(1), enabled=True)])
    await joined(cluster, machine, app)
    changed = config(
        "app-2",
        files=[file("/etc/app/a", "x"), file("/etc/app/deep/b", "x"), file("/etc/quiet", "x")],
        units=[unit("app.service", service(2), enabled=True)],
    )
    found = await foretold(cluster, changed, app)
    assert [(action.type, action.service) for action in found.actions] == [
        ("DaemonReload", ""),
        ("Restart", "app.service"),
    ]
    await cluster.create(changed)
    await cluster.target(machine.name, changed)
    await cluster.done(machine.name, changed)
    await cluster.event(machine.name, "ServiceRestart")
    start = "Config changes do not require reboot. Service "
    assert sorted(messages(cluster, machine.name)) == [
        f"{start}app.service was restarted.",
        f"{start}daemon-reload was reloaded.",
    ]
    assert machine.reboots == 0
    assert not found.reboot


async def test_a_drain_that_a_policy_asks_for(cluster: Cluster, machine: Machine) -> None:
    await configured(cluster, nodeDisruptionPolicy=POLICY)
    await joined(cluster, machine)
    changed = config("drained", files=[file("/etc/drained", "x")])
    assert (await foretold(cluster, changed)).drain
    await cluster.create(changed)
    await cluster.target(machine.name, changed)
    await cluster.done(machine.name, changed)
    assert (
        cluster.annotation(machine.name, names.LAST_APPLIED_DRAIN)
        == f"uncordon-{changed['metadata']['name']}"
    )
    assert cluster.condition(machine.name, "Drained") == "False"
    await cluster.event(machine.name, "Drain")
    assert machine.reboots == 0


async def test_a_section_that_is_let_pass(cluster: Cluster, machine: Machine) -> None:
    await configured(cluster, irreconcilableValidationOverrides=None)
    await joined(cluster, machine)
    disks = {"storage": {"disks": [{"device": "/dev/sdx", "wipeTable": True}]}}
    changed = config("disks", ignition=disks)
    refused = await foretold(cluster, changed)
    await cluster.create(changed)
    await cluster.target(machine.name, changed)
    reason = await cluster.degraded(
        machine.name, "ignition disks section contains changes", names.STATE_UNRECONCILABLE
    )
    assert reason == refused.reason
    await configured(cluster, irreconcilableValidationOverrides={"storage": ["Disks"]})
    assert (await foretold(cluster, changed)).reconcilable
    await cluster.done(machine.name, changed)
    assert machine.reboots == 0
