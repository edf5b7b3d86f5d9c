"""The crash matrix on a real machine: every kind of action, every point, forwards and backwards, the whole
machine crashed. Every ninth point is tried; MCO_CRASH_SHARE=1 tries all of them, for about half an hour."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import Measurement
from mco.lab import checks
from tests.lab.crashing import journeys


def measure() -> Iterator[Measurement]:
    if failed := checks.missing():
        print(f"  no real machines here: {'; '.join(check.name for check in failed)}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="mco-crash-lab-") as name:
        wrong, count = asyncio.run(_all(Path(name)))
    yield Measurement("crashed machines that end wrong", wrong, "points", 0, f"of {count}")


async def _all(folder: Path) -> tuple[int, int]:
    wrong = 0
    async with journeys(folder) as tries:
        crashes = list(tries.crashes())[:: int(os.environ.get("MCO_CRASH_SHARE", "9"))]
        for crash in crashes:
            if text := await tries.tried(crash):
                wrong += 1
                print(f"  {crash}: {text}", file=sys.stderr, flush=True)
    return wrong, len(crashes)
