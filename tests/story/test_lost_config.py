"""A rendered config is lost in the middle of a rollout, and only machines still have it."""

from __future__ import annotations

import base64
import random
from pathlib import Path

from mco.api import configcopies
from mco.render import copies
from tests.story.objects import file, kernel_argument
from tests.story.product import told
from tests.story.world import World


def test_a_lost_config_comes_back_from_a_machine_and_the_rollout_finishes(tmp_path: Path) -> None:
    """It needs several Secrets, which its machine may make, and nobody sees them when it is over."""

    async def story(world: World) -> None:
        noise = base64.b64encode(random.Random(1).randbytes(900_000)).decode()
        await world.apply(file("00-base", "/etc/noise", noise))
        old = await world.boot("worker-1", "worker-2")
        before = await world.stored(old)
        assert len(copies.pack(copies.spec_of(old, before.spec))) > configcopies.PART_BYTES

        await world.apply(file("00-base", "/etc/noise", "quiet"), kernel_argument("60-smt", "nosmt"))
        await world.on_the_way("worker-1", "worker-2")
        await world.lose(old)
        after = await world.back(old, before)
        assert copies.spec_of(old, after.spec) == copies.spec_of(old, before.spec)
        assert after.metadata.annotations == before.metadata.annotations

        await world.updated("worker", made_of=["00-base", "60-smt"])
        assert world.ever_degraded == set()
        assert world.most_away == 1
        for machine in world.machines:
            assert machine.read("/etc/noise") == "quiet"
        assert await world.copies_left() == []

    told(tmp_path, story)


def test_an_edited_config_is_put_back_from_a_machine(tmp_path: Path) -> None:
    """No pool is sent there any more; its machines are on the way to the next one."""

    async def story(world: World) -> None:
        await world.apply(file("00-base", "/etc/motd", "managed"))
        old = await world.boot("worker-1", "worker-2")
        before = await world.stored(old)
        async with world.paused("worker"):
            await world.apply(file("00-base", "/etc/motd", "changed"))
            await world.rendered("worker", made_of=["00-base"], other_than=old)
            edited = await world.edit(old, kernelArguments=["evil"])
            after = await world.put_back(edited)
            assert after.spec == before.spec
            assert after.metadata.uid == before.metadata.uid
            assert await world.copies_left() == []
        await world.updated("worker", made_of=["00-base"])
        assert world.ever_degraded == set()

    told(tmp_path, story)
