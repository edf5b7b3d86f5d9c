"""Fates of simulated machines."""

from __future__ import annotations

import math
import random

import pytest

from mco.base.errors import InvalidInput
from mco.sim.script import Script, Span, parse_span

NODES = [f"sim-{number}" for number in range(200)]


def test_a_seed_is_a_fate_whoever_asks_first() -> None:
    script = Script(seed=7, apply=Span(1, 9), reboot=Span(2, 3), failing=0.5, failures=2)
    fates = {node: script.fate(node, "rendered-worker-1") for node in NODES}
    asked = random.Random(1).sample(NODES, len(NODES))
    assert {node: script.fate(node, "rendered-worker-1") for node in asked} == fates
    assert fates != {n: Script(seed=8, apply=Span(1, 9), reboot=Span(2, 3)).fate(n, "x") for n in NODES}


def test_times_lie_in_their_spans_and_failures_have_their_share() -> None:
    script = Script(apply=Span(1, 9), reboot=Span(2, 3), failing=0.25, failures=math.inf)
    fates = [script.fate(node, "rendered-worker-1") for node in NODES]
    assert all(1 <= fate.apply <= 9 and 2 <= fate.reboot <= 3 for fate in fates)
    assert 0.15 < sum(fate.failures == math.inf for fate in fates) / len(fates) < 0.35
    assert {fate.failures for fate in fates} == {0, math.inf}


@pytest.mark.parametrize(
    ("text", "span"),
    [("0", Span(0, 0)), ("3", Span(3, 3)), ("2-10", Span(2, 10)), ("0.5-1.5", Span(0.5, 1.5))],
)
def test_spans_are_read(text: str, span: Span) -> None:
    assert parse_span(text) == span


@pytest.mark.parametrize("text", ["", "-1", "3-", "10-2", "a", "1-2-3", "nan", "1e3", " 1"])
def test_what_is_no_span_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match="no span of seconds"):
        parse_span(text)
