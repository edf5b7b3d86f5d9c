"""How much the operator logs changes while it runs (spec/operator.md 1.1), on the embedded server."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

import pytest

from mco.api import names
from mco.api.machineconfiguration import MachineConfiguration, MachineConfigurationSpec
from mco.api.resources import MACHINE_CONFIGURATIONS
from mco.plan.installation.verbosity import verbosity
from tests.operator.world import SETTINGS, embedded


@pytest.mark.parametrize(
    ("level", "count"), [("Normal", 2), ("", 2), ("Debug", 4), ("Trace", 6), ("TraceAll", 8)]
)
def test_levels(level: str, count: int) -> None:
    settings = MachineConfiguration(spec=MachineConfigurationSpec(operator_log_level=level))
    assert verbosity(settings) == count


def test_before_anybody_says_something() -> None:
    assert verbosity(None) == 2


def set_to(logger: logging.Logger, level: int, _: object) -> bool:
    return logger.level == level


async def test_the_operator_itself(tmp_path: Path) -> None:
    ours = logging.getLogger("mco")
    async with embedded(tmp_path) as world, world.operator():
        await world.until(lambda _: ours.level == logging.NOTSET, SETTINGS)
        for wanted in ("Debug", "Normal"):
            body = {"spec": {"operatorLogLevel": wanted}}
            await world.client.patch(MACHINE_CONFIGURATIONS, names.MACHINE_CONFIGURATION, body)
            level = logging.DEBUG if wanted == "Debug" else logging.NOTSET
            await world.until(partial(set_to, ours, level), SETTINGS)
