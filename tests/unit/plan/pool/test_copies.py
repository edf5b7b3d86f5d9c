"""Whom to ask for a lost config: every state of the fleet, and what comes next."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.plan.pool.copies import ROUND, Ask, Drop, Facts, GiveUp, Step, Take, Wait, next_step
from tests.factories import node
from tests.rendered import name_of, report

LOST, OTHER = name_of(1), name_of(2)
NONCE, STALE = "a" * 16, "b" * 16


def runs(name: str, config: str = LOST, desired: str = "", *, ready: str = "True", **said: str) -> Node:
    keys = {"wanted": names.COPY_WANTED, "given": names.COPY_GIVEN, "born": names.FIRST_PIVOT_CONFIG}
    annotations = {keys[key]: value for key, value in said.items()}
    conditions = [{"type": "Ready", "status": ready}]
    return node(name, config, desired or config, ready=None, annotations=annotations, conditions=conditions)


def step(*nodes: Node, reports: tuple[MachineConfigNode, ...] = (), **facts: Any) -> Step:
    defaults: dict[str, Any] = {"waited": {}, "asked": (), "vain": {}, "patience": 30.0}
    return next_step(Facts(config=LOST, nodes=nodes, reports=reports, **defaults | facts))


def shown(found: Step) -> tuple[object, ...]:
    match found:
        case Ask(who) | Drop(who):
            return type(found), who.name
        case Take(who, nonce, parts):
            return Take, who.name, nonce, parts
        case Wait(seconds):
            return Wait, seconds
        case GiveUp(silent):
            return (GiveUp, *silent)


A = runs("a")
ASKED = f"{NONCE} {LOST}"

CASES: dict[str, tuple[Step, tuple[object, ...]]] = {
    "nobody": (step(), (GiveUp,)),
    "somebody else's": (step(runs("a", OTHER)), (GiveUp,)),
    "the first that runs it": (step(runs("b"), A), (Ask, "a")),
    "who runs it before who is told to": (step(runs("a", OTHER, LOST), runs("b")), (Ask, "b")),
    "who is told to": (step(runs("a", OTHER, LOST)), (Ask, "a")),
    "who says in its report that it runs it": (
        step(runs("a", OTHER, LOST), runs("b", OTHER), reports=(report("b", current=LOST),)),
        (Ask, "b"),
    ),
    "who is on the way there": (step(runs("a", OTHER), reports=(report("a", said=LOST),)), (Ask, "a")),
    "who was born with it": (step(runs("a", OTHER, born=LOST)), (Ask, "a")),
    "a report without a node": (step(reports=(report("a", current=LOST),)), (GiveUp,)),
    "who was asked in vain stands behind": (step(A, runs("b"), vain={"a": 1}), (Ask, "b")),
    "nobody twice in a round": (step(A, runs("b"), asked={"a", "b"}), (GiveUp,)),
    "not all in a round": (
        step(*(runs(f"n{i}") for i in range(9)), asked={f"n{i}" for i in range(ROUND)}),
        (GiveUp,),
    ),
    "silent ones are named": (step(runs("a", ready="Unknown"), runs("b"), asked={"b"}), (GiveUp, "a")),
    "one that is not ready can read": (step(runs("a", ready="False")), (Ask, "a")),
    "one that is asked already": (step(runs("a", wanted=ASKED)), (Wait, 30.0)),
    "for some time": (step(runs("a", wanted=ASKED), waited={NONCE: 29.0}), (Wait, 1.0)),
    "for too long": (step(runs("a", wanted=ASKED), waited={NONCE: 30.0}), (Drop, "a")),
    "it has it": (step(runs("a", wanted=ASKED, given=f"{NONCE} 2")), (Take, "a", NONCE, 2)),
    "after all": (
        step(runs("a", wanted=ASKED, given=f"{NONCE} 2"), waited={NONCE: 99.0}),
        (Take, "a", NONCE, 2),
    ),
    "it has none": (step(runs("a", wanted=ASKED, given=f"{NONCE} 0")), (Drop, "a")),
    "an answer to another question": (step(runs("a", wanted=ASKED, given=f"{STALE} 2")), (Wait, 30.0)),
    "too many parts": (step(runs("a", wanted=ASKED, given=f"{NONCE} 5")), (Wait, 30.0)),
    "no answer at all": (step(runs("a", wanted=ASKED, given="yes")), (Wait, 30.0)),
    "no question": (step(runs("a", wanted="please", given="yes")), (Ask, "a")),
    "two were asked, one has answered": (
        step(runs("a", wanted=ASKED), runs("b", wanted=f"{STALE} {LOST}", given=f"{STALE} 1")),
        (Take, "b", STALE, 1),
    ),
    "one that is busy is waited for": (step(runs("a", wanted=f"{NONCE} {OTHER}")), (Wait, 30.0)),
    "or another is asked": (step(runs("a", wanted=f"{NONCE} {OTHER}"), runs("b")), (Ask, "b")),
    "one that was asked and is of no use": (
        step(runs("a", OTHER, wanted=ASKED), waited={NONCE: 30.0}),
        (Drop, "a"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_comes_next(case: str) -> None:
    found, expected = CASES[case]
    assert shown(found) == expected
