"""The whole product, told as a person would tell it (docs/story.md)."""

from __future__ import annotations

from pathlib import Path

from tests.story.objects import file, kernel_argument, pool
from tests.story.product import told
from tests.story.world import World


def test_a_change_from_creation_to_report(tmp_path: Path) -> None:
    """Two machines are born with a config; a file and a kernel argument are rolled over them, one by one,
    with one reboot each; then the change is taken back."""

    async def story(world: World) -> None:
        await world.apply(file("00-base", "/etc/motd", "managed"))
        await world.boot("worker-1", "worker-2")
        for machine in world.machines:
            assert machine.read("/etc/motd") == "managed"
            assert machine.reboots == 0

        async with world.paused("worker"):
            await world.apply(
                file("50-tuning", "/etc/tuning.conf", "fast"), kernel_argument("60-smt", "nosmt")
            )
        target = await world.updated("worker", made_of=["00-base", "50-tuning", "60-smt"])
        for machine in world.machines:
            assert machine.read("/etc/tuning.conf") == "fast"
            assert "nosmt" in machine.kernel_arguments
            assert machine.reboots == 1
            assert world.current_config(machine.name) == target
        assert world.most_away == 1

        async with world.paused("worker"):
            await world.delete("50-tuning", "60-smt")
        await world.updated("worker", made_of=["00-base"])
        for machine in world.machines:
            assert not machine.has("/etc/tuning.conf")
            assert "nosmt" not in machine.kernel_arguments
            assert machine.reboots == 2

    told(tmp_path, story)


def test_a_machine_of_a_custom_pool_is_born_where_it_belongs(tmp_path: Path) -> None:
    """It gets edge's config at first boot and never the worker's in between."""

    async def story(world: World) -> None:
        await world.apply(
            pool("edge"),
            file("00-base", "/etc/motd", "managed"),
            file("10-site", "/etc/site.conf", "warehouse", role="edge"),
        )
        await world.boot("edge-1", pool="edge")
        (edge,) = world.machines
        assert edge.read("/etc/motd") == "managed"
        assert edge.read("/etc/site.conf") == "warehouse"
        assert edge.reboots == 0
        assert world.roles("edge-1") == {"edge", "worker"}

    told(tmp_path, story)


def test_a_bad_config_stops_at_one_machine_and_its_removal_heals_it(tmp_path: Path) -> None:
    """The path leads through a regular file, so it can never be written: the machine undoes what it did,
    says which path, and nobody has to touch it."""

    async def story(world: World) -> None:
        await world.apply(file("00-base", "/etc/motd", "managed"))
        good = await world.boot("worker-1", "worker-2")

        await world.apply(file("50-bad", "/etc/motd/below", "x"))
        complaint = await world.degraded("worker")
        assert "/etc/motd/below" in complaint
        assert world.pool("worker").status.degraded_machine_count == 1
        assert {world.current_config(machine.name) for machine in world.machines} == {good}

        await world.delete("50-bad")
        assert await world.updated("worker", made_of=["00-base"]) == good
        await world.healed("worker")
        for machine in world.machines:
            assert machine.read("/etc/motd") == "managed"
            assert machine.reboots == 0

    told(tmp_path, story)
