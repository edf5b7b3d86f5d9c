"""Rendered configs that only nodes still have come back from there, and only what was rendered does.

The nodes here say what a test makes them say; `tests/daemon/test_lending.py` has real daemons.
"""

from __future__ import annotations

import base64
import random
import zlib
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import configcopies, names, resources
from mco.api.machineconfig import MachineConfig
from mco.controllers.copies import NodeCopies
from mco.controllers.copysearch import AGAIN, PATIENCE
from mco.controllers.restore import RestoreController
from mco.kube.errors import ConflictError, NotFoundError
from mco.render import copies
from tests.controllers.scene import POOL, Scene, refill, scene
from tests.controllers.stage import Events


class Lost(msgspec.Struct):
    """A config that is gone, and nothing gives it any more; `before` is what it was. w1 and w2 run it."""

    stage: Scene
    name: str
    before: MachineConfig

    async def asked(self) -> str:
        """The node that is asked for it."""
        nodes = (await self.stage.client.list(resources.NODES)).items
        found = [n.name for n in nodes if (r := configcopies.requested(n)) and r.config == self.name]
        return found[0] if found else ""

    async def secrets(self) -> list[str]:
        found = await self.stage.client.list(resources.SECRETS, namespace=names.NAMESPACE)
        return [secret.name for secret in found.items]

    def packed(self, **changes: Any) -> bytes:
        spec = copies.spec_of(self.name, self.before.spec) | changes
        return copies.pack(spec)

    async def give(self, node: str, packed: bytes, parts: int | None = None, *, nonce: str = "") -> None:
        """As a daemon answers; `parts` is what it says, `nonce` which request it says to answer."""
        client = self.stage.client
        found = await client.get(resources.NODES, node)
        request = configcopies.requested(found)
        assert request is not None
        size = configcopies.PART_BYTES
        pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
        for number, piece in enumerate(pieces):
            body = configcopies.secret(found, nonce or request.nonce, number, piece)
            await client.create(resources.SECRETS, body, namespace=names.NAMESPACE)
        said = configcopies.Answer(nonce or request.nonce, len(pieces) if parts is None else parts)
        annotations = {names.COPY_GIVEN: str(said)}
        await client.patch(resources.NODES, node, {"metadata": {"annotations": annotations}})
        await self.stage.look()

    async def time(self, seconds: float) -> None:
        self.stage.clock.seconds += seconds
        await self.stage.look()
        await self.stage.restored(self.name)

    async def is_back(self) -> None:
        """As it was, with nothing left of how it came."""
        after = await self.stage.client.get(resources.MACHINE_CONFIGS, self.name)
        assert after.metadata.uid != self.before.metadata.uid
        assert copies.spec_of(self.name, after.spec) == copies.spec_of(self.name, self.before.spec)
        assert after.metadata.annotations == self.before.metadata.annotations
        assert after.metadata.owner_references == self.before.metadata.owner_references
        assert not after.metadata.labels
        await self.nothing_left()

    async def nothing_left(self) -> None:
        assert await self.secrets() == []
        for node in (await self.stage.client.list(resources.NODES)).items:
            said = node.metadata.annotations or {}
            assert not said.keys() & {names.COPY_WANTED, names.COPY_GIVEN}


@pytest.fixture
async def lost(tmp_path: Path) -> AsyncIterator[Lost]:
    async with scene(tmp_path) as stage:
        yield await lose(stage, "one")


async def lose(stage: Scene, text: str) -> Lost:
    await stage.input(text)
    name = await stage.rendered()
    for node in ("w1", "w2"):
        await stage.register(node, name)
        await stage.reports(node, current=name, desired=name)
    before = await stage.client.get(resources.MACHINE_CONFIGS, name)
    await stage.look()
    await stage.input("another")
    await stage.look()
    await stage.delete(name)
    await stage.look()
    return Lost(stage, name, before)


async def test_one_node_is_asked_and_its_copy_taken(lost: Lost) -> None:
    assert await lost.asked() == "w1"
    assert not await lost.stage.exists(lost.name)
    await lost.give("w1", lost.packed())
    await lost.is_back()
    text = f"{lost.name} was gone, and is back from the copy of node w1"
    assert lost.stage.events.all[-1] == (f"MachineConfig/{lost.name}", "RenderedConfigRestored", text)


async def test_a_large_config_comes_in_parts(tmp_path: Path) -> None:
    async with scene(tmp_path) as stage:
        noise = base64.b64encode(random.Random(1).randbytes(1_050_000)).decode()
        lost = await lose(stage, noise)
        assert len(lost.packed()) > configcopies.PART_BYTES
        await lost.give("w1", lost.packed())
        await lost.is_back()


async def test_a_node_that_has_none_is_left_at_once(lost: Lost) -> None:
    await lost.give("w1", b"")
    assert await lost.asked() == "w2"
    await lost.give("w2", lost.packed())
    await lost.is_back()


async def test_a_node_that_does_not_answer_is_left_in_the_end(lost: Lost) -> None:
    await lost.time(PATIENCE - 1)
    assert await lost.asked() == "w1"
    await lost.time(2)
    assert await lost.asked() == "w2"


async def test_an_answer_to_an_earlier_request_is_none(lost: Lost) -> None:
    await lost.give("w1", lost.packed(), nonce="0" * 16)
    assert not await lost.stage.exists(lost.name)
    assert await lost.asked() == "w1"


BOMB = zlib.compress(bytes(600_000_000), level=9, wbits=31)


WRONG = ("edited", "another", "bomb", "garbage", "less", "no spec", "plain")


@pytest.mark.parametrize("what", WRONG)
async def test_what_was_not_rendered_so_is_refused(lost: Lost, what: str) -> None:
    packed = {
        "edited": lost.packed(kernelArguments=["evil"]),
        "another": lost.packed(osImageURL="evil.example/os:latest"),
        "bomb": BOMB,
        "garbage": b"garbage",
        "less": lost.packed()[:-9],
        "no spec": zlib.compress(b'{"spec": 5}', wbits=31),
        "plain": zlib.decompress(lost.packed(), wbits=31),
    }[what]
    await lost.give("w1", packed)
    assert not await lost.stage.exists(lost.name)
    regarding, reason, text = lost.stage.events.all[-1]
    assert (regarding, reason) == ("Node/w1", "RenderedConfigCopyRefused")
    assert text.startswith(f"the copy of {lost.name} that w1 gave is not used: ")
    assert "evil" not in text
    assert await lost.secrets() == []
    assert await lost.asked() == "w2"
    await lost.give("w2", lost.packed())
    await lost.is_back()


async def test_a_part_that_is_missing_is_an_answer_that_does_not_help(lost: Lost) -> None:
    await lost.give("w1", lost.packed(), parts=2)
    _, _, text = lost.stage.events.all[-1]
    assert text.endswith("is not used: part 2 of 2 is missing")
    assert await lost.asked() == "w2"


async def test_when_nobody_can_help_people_are_told_once_a_round(lost: Lost) -> None:
    await lost.give("w1", b"")
    await lost.give("w2", b"")
    said = [text for _, reason, text in lost.stage.events.all if reason == "RenderedConfigLost"]
    assert said == [
        f"{lost.name} is gone, needed by pool {POOL}, nodes w1 and w2, and its MachineConfigs have changed; "
        "nodes w1 and w2 could not give a copy. Create the MachineConfigs again as they were, or send those "
        "who need it elsewhere"
    ]
    await lost.nothing_left()
    await lost.time(AGAIN / 2)
    assert await lost.asked() == ""
    await lost.time(AGAIN)
    assert await lost.asked() == "w1"
    assert lost.stage.events.reasons().count("RenderedConfigLost") == 1


async def test_nodes_that_do_not_report_are_named(lost: Lost) -> None:
    for node in ("w1", "w2"):
        gone = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        await lost.stage.client.patch(resources.NODES, node, gone, subresource="status")
    await lost.time(PATIENCE + 1)
    _, reason, text = lost.stage.events.all[-1]
    assert reason == "RenderedConfigLost"
    assert "node w1 could not give a copy; nothing is heard of node w2, which may have one" in text
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await lost.stage.client.patch(resources.NODES, "w2", ready, subresource="status")
    await lost.stage.look()
    assert await lost.asked() == "w2"


async def test_inputs_that_are_as_they_were_end_the_search(lost: Lost) -> None:
    await lost.stage.input("one")
    await lost.time(PATIENCE + 1)
    await lost.is_back()


async def test_a_config_that_nobody_needs_any_more_is_not_searched_for(lost: Lost) -> None:
    other = await lost.stage.rendered()
    for node in ("w1", "w2"):
        await lost.stage.says(node, current=other, desired=other)
        await lost.stage.unreported(node)
    body: dict[str, Any] = {"status": {"configuration": {"name": other}}}
    await lost.stage.client.patch(resources.MACHINE_CONFIG_POOLS, POOL, body, subresource="status")
    await lost.stage.look()
    await lost.nothing_left()
    assert not await lost.stage.exists(lost.name)


@pytest.mark.parametrize("when", ["asked", "given", "back"])
async def test_another_process_goes_on(lost: Lost, when: str) -> None:
    """One that is killed leaves the request, which is the last thing to go."""
    if when == "asked":
        lost.stage.restart()
        await lost.give("w1", lost.packed())
    else:
        heard = lost.stage.look
        lost.stage.look = _deaf  # type: ignore[method-assign]
        await lost.give("w1", lost.packed())
        lost.stage.look = heard  # type: ignore[method-assign]
        if when == "back":
            pool = await lost.stage.client.get(resources.MACHINE_CONFIG_POOLS, POOL)
            spec = copies.spec_of(lost.name, lost.before.spec)
            body = lost.stage.render.described(pool, lost.name, spec)
            await lost.stage.client.create(resources.MACHINE_CONFIGS, body)
        lost.stage.restart()
        await lost.stage.look()
    await lost.is_back()


async def _deaf() -> None:
    pass


class Killed(Exception):
    """The process ends before a write."""


def killed_after(writes: int) -> Callable[[], None]:
    left = iter(range(writes))

    def before_write() -> None:
        if next(left, None) is None:
            raise Killed

    return before_write


async def test_a_controller_that_is_killed_before_any_of_its_writes(lost: Lost) -> None:
    stage = lost.stage
    await lost.give("w1", lost.packed())
    for writes in count():
        client = stage.client.guarded(killed_after(writes))
        stage.restore = RestoreController(client, stage.caches, stage.render, stage.events, stage.clock)
        try:
            await stage.delete(lost.name)
            await stage.look()
            await lost.give("w1", lost.packed())
        except Killed:
            stage.restart()
            await stage.look()
            if not await stage.exists(lost.name):
                await lost.give("w1", lost.packed())
            await lost.is_back()
        else:
            break
    # To ask, to create, to remove each part that there may be, and to take the request back.
    assert writes == 3 + configcopies.MAX_PARTS


async def test_two_controllers_do_not_mind_each_other(lost: Lost) -> None:
    stage = lost.stage
    events = Events()
    other = RestoreController(stage.client, stage.caches, stage.render, events, stage.clock)
    with pytest.raises(ConflictError):
        await other.reconcile(lost.name)
    await refill(stage.client, resources.NODES, stage.caches.nodes)
    assert await other.reconcile(lost.name) == PATIENCE
    heard = stage.look
    stage.look = _deaf  # type: ignore[method-assign]
    await lost.give("w1", lost.packed())
    stage.look = heard  # type: ignore[method-assign]
    for controller in (other, stage.restore):
        await refill(stage.client, resources.NODES, stage.caches.nodes)
        while await controller.reconcile(lost.name) == 0.0:
            pass
    await lost.is_back()
    assert events.reasons() + stage.events.reasons().count("RenderedConfigRestored") * ["twice"] == [
        "RenderedConfigRestored"
    ]


async def test_a_node_is_asked_for_one_config_at_a_time(lost: Lost) -> None:
    stage = lost.stage
    await stage.input("third")
    third = await stage.rendered()
    await stage.says("w1", desired=third)
    await stage.says("w2", state=names.STATE_WORKING)
    await stage.input("fourth")
    await stage.look()
    await stage.delete(third)
    await stage.look()
    assert await lost.asked() == "w1"
    await lost.give("w1", lost.packed())
    await lost.stage.look()
    node = await stage.client.get(resources.NODES, "w1")
    request = configcopies.requested(node)
    assert request is not None and request.config == third


async def test_what_a_config_was_edited_to_is_put_back_though_no_node_is_sent_there(lost: Lost) -> None:
    await lost.give("w1", lost.packed())
    edit = {"spec": {"kernelArguments": ["evil"], "osImageURL": "evil.example/os"}}
    await lost.stage.client.patch(resources.MACHINE_CONFIGS, lost.name, edit)
    await lost.stage.look()
    await lost.give(await lost.asked(), lost.packed())
    await lost.is_back()
    text = f"{lost.name} was changed by somebody else, and is put back from the copy of node w1"
    assert lost.stage.events.all[-1] == (f"MachineConfig/{lost.name}", "RenderedConfigRepaired", text)


async def test_left_overs_are_removed_when_they_are_old(lost: Lost) -> None:
    client, clock = lost.stage.client, lost.stage.clock
    node = await client.get(resources.NODES, "w2")
    for nonce in ("a" * 16, "b" * 16):
        body = configcopies.secret(node, nonce, 0, b"x")
        await client.create(resources.SECRETS, body, namespace=names.NAMESPACE)
    other = {"metadata": {"name": "other"}}
    await client.create(resources.SECRETS, other, namespace=names.NAMESPACE)
    await lost.stage.look()
    tidy = NodeCopies(client, lost.stage.caches.nodes.store, clock).tidy
    await tidy()
    assert len(await lost.secrets()) == 3
    clock.seconds += 3600
    request = configcopies.Request("b" * 16, lost.name)
    annotations = {names.COPY_WANTED: str(request)}
    await client.patch(resources.NODES, "w2", {"metadata": {"annotations": annotations}})
    await refill(client, resources.NODES, lost.stage.caches.nodes)
    await tidy()
    assert sorted(await lost.secrets()) == [configcopies.secret_name("w2", "b" * 16, 0), "other"]


async def test_secrets_go_with_the_node(lost: Lost) -> None:
    node = await lost.stage.client.get(resources.NODES, "w1")
    body = configcopies.secret(node, "a" * 16, 0, b"x")
    made = await lost.stage.client.create(resources.SECRETS, body, namespace=names.NAMESPACE)
    owners = [(ref.kind, ref.name, ref.uid) for ref in made.metadata.owner_references or ()]
    assert owners == [("Node", "w1", node.metadata.uid)]


async def test_a_node_that_dies_between_two_parts(lost: Lost) -> None:
    client = lost.stage.client
    node = await client.get(resources.NODES, "w1")
    request = configcopies.requested(node)
    assert request is not None
    body = configcopies.secret(node, request.nonce, 0, b"x")
    await client.create(resources.SECRETS, body, namespace=names.NAMESPACE)
    await lost.time(PATIENCE + 1)
    assert await lost.secrets() == []
    await lost.give("w2", lost.packed())
    await lost.is_back()


async def test_a_node_that_is_deleted_is_asked_no_more(lost: Lost) -> None:
    await lost.stage.client.delete(resources.NODES, "w1")
    await lost.stage.look()
    assert await lost.asked() == "w2"
    with pytest.raises(NotFoundError):
        await lost.stage.client.get(resources.NODES, "w1")


async def test_characters_that_a_name_does_not_tell_from_blanks_are_no_edit(tmp_path: Path) -> None:
    """They make a copy suspicious, and not a config."""
    async with scene(tmp_path) as stage:
        await stage.input("x")
        await stage.client.patch(
            resources.MACHINE_CONFIGS, "50-text", {"spec": {"kernelArguments": ["a\x85b"]}}
        )
        name = await stage.rendered()
        await stage.register("w1", name)
        await stage.client.patch(resources.MACHINE_CONFIGS, "50-text", {"spec": {"kernelArguments": []}})
        await stage.look()
        await stage.annotate(name, keep="")
        stage.restart()
        await stage.look()
        assert "RenderedConfigLost" not in stage.events.reasons()
        node = await stage.client.get(resources.NODES, "w1")
        assert configcopies.requested(node) is None


async def test_what_happened_while_nobody_looked_is_found(lost: Lost) -> None:
    stage = lost.stage
    await lost.give("w1", lost.packed())
    await stage.client.patch(resources.MACHINE_CONFIGS, lost.name, {"spec": {"kernelArguments": ["evil"]}})
    stage.restart()
    await stage.look()
    assert await lost.asked() == "w1"
    await stage.delete(lost.name)
    stage.restart()
    await stage.look()
    await lost.give("w1", lost.packed())
    await lost.is_back()
