"""Both sides of a change, by what makes them differ, and what a preview says of them."""

from __future__ import annotations

from typing import Any

from mco.api.machineconfiguration import DisruptionPolicies
from mco.plan.node.policies import DEFAULT
from mco.plan.preview.preview import Preview, preview
from tests.daemon.builders import config, typed

NONE: list[tuple[str, str]] = [("None", "")]
Sides = tuple[dict[str, Any], dict[str, Any]]


def decide(sides: Sides, known: DisruptionPolicies = DEFAULT, overrides: tuple[str, ...] = ()) -> Preview:
    old, new = sides
    return preview(typed(config("old", **old)), typed(config("new", **new)), known, overrides)


def actions(found: Preview) -> list[tuple[str, str]]:
    assert len(found.because) == len(found.actions)
    return [(action.type, action.service) for action in found.actions]
