"""spec/operator.md 1.14: the gate of the required pools, and what is said of pools."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.machineconfigpool import MachineConfigPool
from mco.plan.installation.pooltext import extension, pool_text
from mco.plan.installation.requiredpools import Paused, gate
from tests.factories import pool


def made(
    name: str = "master",
    *true: str,
    required: bool = True,
    machines: int = 3,
    paused: bool = False,
    observed: int = 3,
    **texts: str,
) -> MachineConfigPool:
    """`true`: types of conditions; `texts`: message of the condition of that type."""
    conditions = [
        {"type": t, "status": "True", "reason": "Why" if t in texts else "", "message": texts.get(t, "")}
        for t in true
    ]
    status: Any = {
        "observedGeneration": observed,
        "machineCount": machines,
        "readyMachineCount": 1,
        "updatedMachineCount": 2,
        "configuration": {"name": "V0"},
        "conditions": conditions,
    }
    found = pool(name, paused=paused)
    labels = {names.REQUIRED_FOR_UPGRADE_LABEL: ""} if required else {}
    metadata = msgspec.structs.replace(found.metadata, labels=labels)
    return msgspec.structs.replace(
        found, metadata=metadata, status=msgspec.convert(status, type(found.status))
    )


def valid(_: MachineConfigPool) -> str:
    return ""


def invalid(_: MachineConfigPool) -> str:
    return "too old"


@pytest.mark.parametrize(
    "pools", [[], [made("master", "Updated")], [made("worker", "Updating", required=False)]]
)
def test_open(pools: list[MachineConfigPool]) -> None:
    assert gate(pools, valid) is None


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        (
            [
                made("worker", "Degraded", required=False, Degraded="a disk is full"),
                made("master", "Updated"),
            ],
            "error MachineConfigPool worker is not ready, retrying. Status: (pool degraded: true total: 3, "
            "ready 1, updated: 2, unavailable: 0, reason: a disk is full)",
        ),
        (
            [made("master", "Updating")],
            "error required MachineConfigPool master is not ready, retrying. Status: (total: 3, ready 1, "
            "updated: 2, unavailable: 0, degraded: 0)",
        ),
        (
            [made("master", "Updated", observed=2)],
            "error required MachineConfigPool master is not ready, retrying. Status: (total: 3, ready 1, "
            "updated: 2, unavailable: 0, degraded: 0)",
        ),
    ],
)
def test_closed(pools: list[MachineConfigPool], said: str) -> None:
    found = gate(pools, valid)
    assert found is not None
    assert found.message == said
    assert found.error == f"error during syncRequiredMachineConfigPools: [context deadline exceeded, {said}]"


def test_an_invalid_configuration_is_waited_for() -> None:
    found = gate([made("master", "Updated")], invalid)
    assert found is not None
    text = "MachineConfigPool master has not progressed to latest configuration: too old, retrying"
    assert found.message == text


def test_patience_grows_with_the_machines_of_required_pools() -> None:
    pools = [made("master"), made("arbiter", machines=1), made("worker", required=False, machines=100)]
    found = gate(pools, valid)
    assert found is not None
    assert found.patience == 4 * 600


def test_before_the_first_machine_nothing_is_late() -> None:
    found = gate([made(machines=0)], valid)
    assert found is not None
    assert found.patience is None


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            made("master", "Updated", paused=True),
            "the required MachineConfigPool master was paused with no pending updates; no further syncing",
        ),
        (
            made("master", "Updating", paused=True),
            "error required MachineConfigPool master is paused and cannot sync until it is unpaused",
        ),
    ],
)
def test_a_paused_pool_is_an_error_at_once(found: MachineConfigPool, text: str) -> None:
    with pytest.raises(Paused, match=text) as raised:
        gate([found], invalid)
    assert "during" not in str(raised.value)


def test_a_paused_pool_that_is_there_already_is_none() -> None:
    assert gate([made("master", "Updated", paused=True)], valid) is None


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            made("p", "RenderDegraded", "Updated", RenderDegraded='no "x"'),
            ('rendering fails with "Why": "no \\"x\\""'),
        ),
        (made("p", "NodeDegraded", NodeDegraded="m"), 'nodes fail with "Why": "m"'),
        (made("p", "Updated"), "all 3 nodes are at latest configuration V0"),
        (made("p", "Updating"), "2 (ready 1) out of 3 nodes are updating to latest configuration V1"),
        (
            made("p", "PinnedImageSetsDegraded", PinnedImageSetsDegraded="m"),
            'pinned image sets failed with "Why"',
        ),
        (made("p"), "<unknown>"),
    ],
)
def test_where_a_pool_stands(found: MachineConfigPool, text: str) -> None:
    assert text in pool_text(found)


def test_extension() -> None:
    pools = [made("worker", "Updated"), made("master")]
    assert list(extension(pools)) == ["master", "worker"]
    assert extension(pools, "late")["lastSyncError"] == "late"
