"""When a fleet is where it should be."""

from __future__ import annotations

from mco.fleet.view import FleetView, PoolView
from mco.fleet.watch import all_updated, any_degraded


def pools_with(*pools: tuple[str, bool, bool, int]) -> FleetView:
    """Pools as (name, updated, degraded, machines)."""
    views = (
        PoolView(
            name=name,
            served="V1",
            config="V1",
            updated=updated,
            updating=not updated,
            degraded=degraded,
            machines=machines,
            updated_machines=machines if updated else 0,
        )
        for name, updated, degraded, machines in pools
    )
    return FleetView(pools=tuple(views), nodes=())


def test_a_fleet_is_updated_when_every_pool_has_its_machines_at_the_target() -> None:
    machines = {"worker-1": "worker", "worker-2": "worker"}
    assert all_updated(pools_with(("worker", True, False, 2), ("master", True, False, 0)), machines)
    assert not all_updated(pools_with(("worker", True, False, 1), ("master", True, False, 0)), machines)
    assert not all_updated(pools_with(("worker", True, False, 2), ("master", False, False, 0)), machines)


def test_a_broken_pool_without_machines_holds_up_nobody() -> None:
    machines = {"worker-1": "worker"}
    fleet = pools_with(("worker", True, False, 1), ("lonely", False, True, 0))
    assert all_updated(fleet, machines) and not any_degraded(fleet, machines)
    broken = pools_with(("worker", False, True, 1))
    assert not all_updated(broken, machines) and any_degraded(broken, machines)
