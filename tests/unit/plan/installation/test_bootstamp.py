"""spec/operator.md 1.8: when the boot images of a release may be used."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.plan.installation import bootstamp
from mco.plan.installation.poolvalidity import Expected
from tests.factories import pool

EXPECTED = Expected(controller="c0ffee", release="1.2.3")


@pytest.mark.parametrize(
    ("condition", "config", "updated", "reached"),
    [
        ("Updating", "V1", 1, True),
        ("Updating", "V1", 0, False),
        ("Updated", "V2", 0, True),
        ("Updated", "V1", 3, False),
        ("Degraded", "V2", 1, False),
    ],
)
def test_a_control_plane_node_has_it(condition: str, config: str, updated: int, reached: bool) -> None:
    """`config` is the status's; the pool wants V2."""
    status: dict[str, Any] = {
        "configuration": {"name": config},
        "updatedMachineCount": updated,
        "conditions": [{"type": condition, "status": "True"}],
    }
    assert bootstamp.reached(pool("master", "V2", status=status)) == reached


@pytest.mark.parametrize(
    ("controller", "release", "made"),
    [("c0ffee", "1.2.3", True), ("older", "1.2.3", False), ("c0ffee", "1.2.2", False), ("", "", False)],
)
def test_who_made_it(controller: str, release: str, made: bool) -> None:
    annotations = {
        names.GENERATED_BY_CONTROLLER_VERSION: controller,
        names.RELEASE_IMAGE_VERSION: release,
    }
    rendered = msgspec.convert({"metadata": {"annotations": annotations}}, MachineConfig)
    assert bootstamp.made_by(rendered, EXPECTED) == made


def test_nothing_says_who_made_it() -> None:
    assert not bootstamp.made_by(MachineConfig(), EXPECTED)
