"""A process that runs an instance with one machine until somebody ends it: `keeper.py INSTANCE DATA`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from mco.lab.instance import open_lab


async def keep(instance: str, data: Path) -> None:
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    async with open_lab(instance, data, throw_away=True) as lab:
        machine = lab.machine("worker-0", None)
        machine.start()
        await machine.running()
        print("running", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(keep(sys.argv[1], Path(sys.argv[2])))
