"""Copies of rendered configs: whatever was rendered passes, nothing else does, and one that some node has is
found."""

from __future__ import annotations

import contextlib
import copy
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mco.api import configcopies, names
from mco.api.controllerconfig import ControllerConfig
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import InvalidInput, MCOError
from mco.plan.pool.copies import Ask, Drop, Facts, GiveUp, Take, Wait, next_step
from mco.render import copies
from mco.render.naming import rendered_name
from mco.render.pool import render
from mco.render.rendered import Rendered
from tests.factories import node
from tests.property.installations import Installation, controllers, machine_config, pool
from tests.rendered import name_of


def typed(body: Any, type_: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body), type=type_)


@st.composite
def rendered_configs(draw: st.DrawFn) -> Rendered:
    inputs = [draw(machine_config("worker", f"{number}-worker")) for number in range(draw(st.integers(1, 3)))]
    found = Installation(draw(controllers()), [pool("worker")], inputs)
    try:
        return render(
            typed(found.pools[0], MachineConfigPool),
            [typed(body, MachineConfig) for body in found.machine_configs],
            typed(found.controller, ControllerConfig),
        )
    except MCOError:
        assume(False)
        raise


@given(rendered_configs())
def test_what_was_rendered_passes_unchanged(rendered: Rendered) -> None:
    stored = typed({"spec": rendered.spec}, MachineConfig)
    spec = copies.spec_of(rendered.name, stored.spec)
    assert spec == rendered.spec
    assert copies.unpack(rendered.name, copies.pack(spec)) == rendered.spec


@given(rendered_configs(), st.sets(st.sampled_from((names.KUBELET_CA_FILE, names.CLOUD_CA_FILE))))
def test_so_does_what_was_served_of_it(rendered: Rendered, authorities: set[str]) -> None:
    served = copy.deepcopy(rendered.spec)
    files = served["config"].setdefault("storage", {}).setdefault("files", [])
    files += [{"path": path, "contents": {"source": "data:,ca"}} for path in sorted(authorities)]
    raw = msgspec.json.encode({"metadata": {"name": rendered.name}, "spec": served})
    assert copies.spec_kept(rendered.name, raw) == rendered.spec


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.just("a\x85b"),
)


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with every key or index in it."""
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield tree, key
        yield from places(tree[key])


@given(rendered_configs(), st.data())
@settings(max_examples=60)
def test_nothing_else_passes(rendered: Rendered, data: st.DataObject) -> None:
    """A change is refused, or it is none: whatever comes out was rendered."""
    changed: dict[str, Any] = copy.deepcopy(rendered.spec)
    within, key = data.draw(st.sampled_from(list(places({"spec": changed}))[1:]), label="where")
    if data.draw(st.booleans(), label="removed"):
        del within[key]
    elif isinstance(within, dict) and data.draw(st.booleans(), label="added"):
        within[data.draw(st.sampled_from(("x", "overwrite", "enabled", "contents", "append")))] = data.draw(
            VALUES
        )
    else:
        within[key] = data.draw(VALUES)
    packed = zlib.compress(msgspec.json.encode({"spec": changed}), wbits=31)
    with contextlib.suppress(InvalidInput):
        assert copies.unpack(rendered.name, packed) == rendered.spec


def test_nor_does_what_only_has_the_same_name() -> None:
    """The hash is of a text in which U+0085 became a blank."""
    spec: dict[str, Any] = {
        "baseOSExtensionsContainerImage": "",
        "config": {"ignition": {"version": "3.5.0"}},
        "extensions": [],
        "fips": False,
        "kernelArguments": ["a b"],
        "kernelType": "default",
        "osImageURL": "",
    }
    forged = spec | {"kernelArguments": ["a\x85b"]}
    name = rendered_name("worker", spec)
    assert rendered_name("worker", forged) == name
    assert copies.unpack(name, copies.pack(spec)) == spec
    with pytest.raises(InvalidInput, match="does not tell from blanks"):
        copies.unpack(name, copies.pack(forged))


@given(st.binary(max_size=64))
def test_what_is_no_copy_is_refused_in_one_way(raw: bytes) -> None:
    for packed in (raw, zlib.compress(raw, wbits=31)):
        try:
            copies.unpack(name_of(1), packed)
        except InvalidInput:
            continue
        raise AssertionError("it passed")


LOST = name_of(1)
HAS, NONE, LIES, SILENT, GONE = "has it", "has none", "lies", "says nothing", "does not report"


def _node(name: str, ways: str, request: str = "", answer: str = "") -> Node:
    said = {names.COPY_WANTED: request, names.COPY_GIVEN: answer}
    ready = {"type": "Ready", "status": "Unknown" if ways == GONE else "True"}
    annotations = {key: value for key, value in said.items() if value}
    return node(name, LOST, ready=None, annotations=annotations, conditions=[ready])


@given(st.lists(st.sampled_from((HAS, NONE, LIES, SILENT, GONE)), max_size=12), st.integers(0, 3))
def test_a_copy_that_there_is_is_found(ways: list[str], lateness: int) -> None:
    """Within so many questions as there are nodes, though lies look like answers; one is asked at a time."""
    fleet = {f"n{number:02}": _node(f"n{number:02}", way) for number, way in enumerate(ways)}
    habits = dict(zip(fleet, ways, strict=True))
    asked: set[str] = set()
    vain: dict[str, int] = {}
    waited: dict[str, float] = {}
    questions = rounds = 0
    while rounds <= len(ways):
        assert sum(configcopies.requested(n) is not None for n in fleet.values()) <= 1
        facts = Facts(
            config=LOST,
            nodes=fleet.values(),
            reports=(),
            waited=waited,
            asked=asked,
            vain=vain,
            patience=30.0,
        )
        match next_step(facts):
            case Ask(who):
                questions += 1
                assert habits[who.name] != GONE
                request = configcopies.Request(f"{questions:016x}", LOST)
                parts = {HAS: "1", LIES: "1", NONE: "0"}.get(habits[who.name], "")
                late = questions % 4 < lateness
                answer = f"{request.nonce} {parts}" if parts and not late else ""
                fleet[who.name] = _node(who.name, habits[who.name], str(request), answer)
            case Wait(seconds):
                waited = {f"{questions:016x}": waited.get(f"{questions:016x}", 0.0) + seconds}
            case Take(who) if habits[who.name] == HAS:
                return
            case Take(who) | Drop(who):
                asked.add(who.name)
                vain[who.name] = vain.get(who.name, 0) + 1
                fleet[who.name] = _node(who.name, habits[who.name])
            case GiveUp(silent):
                assert set(silent) == {name for name, way in habits.items() if way == GONE}
                rounds, asked = rounds + 1, set()
    # Punctual nodes were asked as often as there are nodes.
    assert lateness or HAS not in ways
