"""spec/operator.md 0.1, d: who is held, and for how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mco.api.core import Pod
from mco.api.meta.conditions import Condition
from mco.plan.installation import holds
from mco.plan.installation.holds import Change, daemon_hold, fleet, remaining, stable
from mco.runtime.clock import rfc3339
from tests.unit.plan.installation.test_requiredpools import made

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = timedelta(seconds=holds.FLEET_SECONDS)


def daemon(image: str = "new", ready: str = "True", **metadata: Any) -> Pod:
    body = {
        "metadata": {"name": "daemon-x", **metadata},
        "spec": {"containers": [{"image": image}]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }
    return msgspec.convert(body, Pod)


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        (None, "no machine config daemon runs on it"),
        (daemon(deletionTimestamp="2026-01-01T00:00:00Z"), "no machine config daemon runs on it"),
        (daemon(ready="False"), "its machine config daemon, daemon-x, is not ready"),
        (daemon("old"), "its machine config daemon, daemon-x, is of another version"),
        (daemon(), ""),
    ],
)
def test_a_node_is_held_by_its_own_daemon(pod: Pod | None, text: str) -> None:
    assert daemon_hold(pod, "new") == text


@pytest.mark.parametrize(
    ("change", "held"),
    [
        (Change(old="1", new="2", stable=False), True),
        (Change(old="1", new="2", stable=True), False),
        (Change(old="1", new="1", stable=False), False),
        (Change(old="", new="1", stable=False), False),
    ],
)
def test_the_fleet_is_held_while_the_version_changes(change: Change, held: bool) -> None:
    found = fleet(None, change, NOW)
    assert found.status == str(held)
    assert found.reason == ("OperatorVersionChanging" if held else "AsExpected")


def test_a_hold_ends_at_its_deadline_and_does_not_begin_again() -> None:
    change = Change(old="1", new="2", stable=False)
    held = msgspec.structs.replace(fleet(None, change, NOW), last_transition_time=rfc3339(NOW))
    assert remaining(held, NOW) == holds.FLEET_SECONDS
    assert fleet(held, change, NOW + LATER / 2).status == "True"
    ended = fleet(held, change, NOW + LATER)
    assert (ended.status, ended.reason) == ("False", "DeadlinePassed")
    assert fleet(ended, change, NOW + 2 * LATER).reason == "DeadlinePassed"
    assert fleet(ended, Change(old="2", new="2", stable=False), NOW).reason == "AsExpected"


def test_a_hold_ends_although_its_operator_is_gone() -> None:
    held = Condition(type=holds.UPDATES_HELD, status="True", last_transition_time=rfc3339(NOW))
    assert remaining(held, NOW + LATER) == 0
    assert remaining(None, NOW) == 0


@pytest.mark.parametrize(
    ("masters", "invalid", "is_stable"),
    [
        (None, "", True),
        (made(machines=0), "not rendered", True),
        (made("master", "Updated"), "", True),
        (made("master", "Updated"), "of the old version", False),
        (made("master", "Updated", observed=2), "", False),
        (made("master", "Updating"), "", False),
    ],
)
def test_a_stable_control_plane(masters: Any, invalid: str, is_stable: bool) -> None:
    assert stable(masters, invalid) is is_stable
