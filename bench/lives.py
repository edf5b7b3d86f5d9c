"""How many random lives it takes until every collector that forgets a reason is found out, by seed. Harm that
the collector does as it is ends the run, with the history."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from bench import Measurement
from tests.controllers.scene import scene
from tests.controllers.search import Search

SEEDS, LIVES = "abcdefgh", 1500


def measure() -> Iterator[Measurement]:
    # Passes of collectors that do harm fail.
    logging.getLogger("mco").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="mco-lives-") as folder, asyncio.Runner() as loop:
        stack = AsyncExitStack()
        world = loop.run(stack.enter_async_context(scene(Path(folder))))
        for seed in SEEDS:
            search = Search(world, loop, seed)
            search.look(LIVES)
            hidden = f"{search.events} events, {search.collected} configs collected"
            if search.missing:
                hidden += f"; not found: {', '.join(search.missing)}"
            what = f"lives until all are found out, seed {seed}"
            yield Measurement(what, search.lives, "lives", LIVES - 1, hidden)
        loop.run(stack.aclose())
