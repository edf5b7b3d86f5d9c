"""What the operator holds, as the node controller sees it (spec/operator.md 0.1, d)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from mco.api.machineconfignode import UPDATE_HOLD, MachineConfigNode
from mco.api.machineconfiguration import MachineConfiguration
from mco.controllers.held import Held
from mco.plan.installation import holds
from mco.runtime.clock import rfc3339
from tests.controllers.fleet import HandClock


def report(name: str, hold: str | None = None) -> MachineConfigNode:
    annotations = {UPDATE_HOLD: hold} if hold else {}
    return msgspec.convert({"metadata": {"name": name, "annotations": annotations}}, MachineConfigNode)


def settings(status: str, since: str) -> MachineConfiguration:
    condition: dict[str, Any] = {"type": holds.UPDATES_HELD, "status": status, "lastTransitionTime": since}
    body = {"metadata": {"name": "cluster"}, "status": {"conditions": [condition | {"message": "why"}]}}
    return msgspec.convert(body, MachineConfiguration)


def test_a_node_is_held_as_long_as_its_report_says_so() -> None:
    held = Held(HandClock())
    held.report_changed(None, report("a", "no daemon"))
    held.report_changed(None, report("b"))
    assert {name: why.text for name, why in held.of("master", ["a", "b"]).items()} == {"a": "no daemon"}
    held.report_changed(report("a", "no daemon"), report("a"))
    assert not held.of("master", ["a"])
    held.report_changed(None, report("a", "no daemon"))
    held.report_changed(report("a", "no daemon"), None)
    assert not held.of("master", ["a"])


def test_the_fleet_is_held_but_for_its_control_plane_and_not_for_ever() -> None:
    """An operator that dies in the middle of its own update holds nobody for longer."""
    clock = HandClock()
    held = Held(clock)
    began = clock.now()
    held.settings_changed(None, settings("True", rfc3339(began)))
    assert {name: why.text for name, why in held.of("worker", ["a"]).items()} == {"a": "why"}
    assert not held.of("master", ["a"])
    assert not held.of("arbiter", ["a"])
    clock.seconds += holds.FLEET_SECONDS - 1
    assert held.remaining() == 1
    clock.seconds += 1
    assert began + timedelta(seconds=holds.FLEET_SECONDS) == clock.now()
    assert not held.of("worker", ["a"])


def test_a_hold_that_is_over() -> None:
    clock = HandClock()
    held = Held(clock)
    held.settings_changed(None, settings("False", rfc3339(clock.now())))
    assert not held.of("worker", ["a"])
    assert held.remaining() == 0
