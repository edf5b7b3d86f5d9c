"""The whole product, told as a person would tell it (docs/story.md)."""

from __future__ import annotations

from pathlib import Path

from mco.api import names
from tests.story.world import World, file, kernel_argument, pool, told


def test_a_change_from_creation_to_report(tmp_path: Path) -> None:
    """Two machines are born with a config; a file and a kernel argument are rolled over them, one by one,
    with one reboot each; then the change is taken back."""

    async def story(world: World) -> None:
        await world.apply(file("00-base", "/etc/motd", "managed"))
        await world.boot("worker-1", "worker-2")
        for machine in world.machines.values():
            assert machine.read("/etc/motd") == "managed"
            assert machine.reboots == 0

        await world.pause("worker")
        await world.apply(file("50-tuning", "/etc/tuning.conf", "fast"), kernel_argument("60-smt", "nosmt"))
        await world.pause("worker", False)
        target = await world.updated(made_of=("00-base", "50-tuning", "60-smt"))
        for name, machine in world.machines.items():
            assert machine.read("/etc/tuning.conf") == "fast"
            assert "nosmt" in machine.machine.host.kernel.running()
            assert machine.reboots == 1
            assert world.annotation(name, names.CURRENT_CONFIG) == target

        await world.pause("worker")
        await world.delete("50-tuning")
        await world.delete("60-smt")
        await world.pause("worker", False)
        await world.updated(made_of=("00-base",))
        for machine in world.machines.values():
            await world.until(lambda m=machine: not m.root.exists("/etc/tuning.conf"), "the file is gone")  # type: ignore[misc]
            assert "nosmt" not in machine.machine.host.kernel.running()

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
        edge = world.machines["edge-1"]
        assert (edge.read("/etc/motd"), edge.read("/etc/site.conf")) == ("managed", "warehouse")
        assert edge.reboots == 0
        node = world.nodes.store.get("edge-1")
        assert node is not None
        roles = {
            key.removeprefix(names.NODE_ROLE_PREFIX) for key in node.metadata.labels or {} if "role" in key
        }
        assert {"worker", "edge"} <= roles

    told(tmp_path, story)


def test_a_bad_config_stops_at_one_machine_and_its_removal_heals_it(tmp_path: Path) -> None:
    """The path leads through a regular file, so it can never be written: the machine undoes what it did,
    says which path, and nobody has to touch it."""

    async def story(world: World) -> None:
        await world.apply(file("00-base", "/etc/motd", "managed"))
        await world.boot("worker-1", "worker-2")
        first = world.pool().spec.configuration.name

        await world.apply(file("50-bad", "/etc/motd/below", "x"))
        await world.until(lambda: world.condition("Degraded")[0] == "True", "degraded")
        assert "/etc/motd/below" in world.condition("NodeDegraded")[1]
        assert world.pool().status.degraded_machine_count == 1
        states = [world.annotation(name, names.CURRENT_CONFIG) for name in world.machines]
        assert states == [first, first]

        await world.delete("50-bad")
        assert await world.updated(made_of=("00-base",)) == first
        await world.until(lambda: world.condition("Degraded")[0] == "False", "healed")
        assert all(machine.reboots == 0 for machine in world.machines.values())
        assert all(machine.read("/etc/motd") == "managed" for machine in world.machines.values())

    told(tmp_path, story)
