"""A real machine is crashed as a whole at points of an update: real systemd with its links of units, real
programs, real boots. Every point: `python -m bench crash_lab`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.everykind import entry_of
from tests.lab.crashing import Crash, journeys

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

CRASHES = (
    Crash(entry_of("set the password"), "noted"),
    Crash(entry_of("enable", back=True), "done", back=True),
    Crash(entry_of("write unit changed"), "undoing", withdrawn=True),
)


async def test_a_machine_that_crashes_in_an_update(tmp_path: Path) -> None:
    """It has exactly the old or exactly the new config afterwards, with at most one reboot more."""
    async with journeys(tmp_path) as tries:
        wrong = {crash: await tries.tried(crash) for crash in CRASHES}
    assert wrong == dict.fromkeys(CRASHES, "")
