"""Run the parts of a process together: all of them, or none.

`supervise({"render": render.run, "node": node.run})` starts every part. The first that fails cancels the
others and its error is raised with the part's name; SIGTERM or SIGINT cancels all of them and is no error;
the same signal once more ends the process at once. A part gets `grace` seconds to clean up after it was
cancelled; one that does not stop is named and left behind, so that a stuck part never keeps a process alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from mco.base.errors import MCOError
from mco.runtime.logging import Logger, bound

Part = Callable[[], Awaitable[None]]

_log = Logger("mco.supervise")


class PartFailed(MCOError):
    """A part of the process ended with an error, which is the cause; `subject` is the part's name."""


async def supervise(
    parts: Mapping[str, Part], *, grace: float = 30.0, signals: bool = True
) -> signal.Signals | None:
    """Run `parts` until each has returned, one fails, or a signal asks to stop; returns that signal.

    Raises PartFailed for the first failure. `signals=False` leaves the process's signal handlers alone, for
    code that runs inside another supervisor or outside the main thread."""
    stop: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
    tasks = {asyncio.create_task(_run(name, part), name=name) for name, part in parts.items()}
    with _on_signal(stop) if signals else contextlib.nullcontext():
        try:
            return await _until_over(tasks, stop)
        finally:
            await _stop(tasks, grace)
            stop.cancel()


@contextlib.asynccontextmanager
async def beside(*parts: Awaitable[None]) -> AsyncIterator[None]:
    """Runs `parts` beside the block, and ends them with it. Whatever becomes of one is not the block's
    matter: that is what `supervise` is for."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run(name: str, part: Part) -> None:
    with bound(part=name):
        await part()


async def _until_over(
    tasks: set[asyncio.Task[None]], stop: asyncio.Future[signal.Signals]
) -> signal.Signals | None:
    running = set(tasks)
    while running:
        waiting: set[asyncio.Future[Any]] = {*running, stop}
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if stop in done:
            _log.info("stopping", signal=stop.result().name)
            return stop.result()
        for task in running & done:
            running.discard(task)
            _raise_failure(task)
    return None


def _raise_failure(task: asyncio.Task[None]) -> None:
    if task.cancelled():
        raise PartFailed(f"{task.get_name()} was cancelled", subject=task.get_name())
    error = task.exception()
    if error is not None:
        raise PartFailed(f"{task.get_name()} failed: {error}", subject=task.get_name()) from error


async def _stop(tasks: set[asyncio.Task[None]], grace: float) -> None:
    """Cancel what runs, wait for it, and say what went wrong on the way: the first failure is already on its
    way up."""
    running = {task for task in tasks if not task.done()}
    for task in running:
        task.cancel()
    if not running:
        return
    done, stuck = await asyncio.wait(running, timeout=grace)
    for task in done:
        if not task.cancelled() and (error := task.exception()):
            _log.exception("part failed while it stopped", error, part=task.get_name())
    for task in stuck:
        _log.error("part did not stop", part=task.get_name(), seconds=grace)


@contextlib.contextmanager
def _on_signal(stop: asyncio.Future[signal.Signals]) -> Iterator[None]:
    """Ask to stop on a signal; afterwards the process has the handlers that it had before, which the event
    loop alone would replace by Python's defaults."""
    loop = asyncio.get_running_loop()

    def ask(number: signal.Signals) -> None:
        # Not one after the other kind: Ctrl+C reaches a whole group of processes, and a parent among them
        # passes it on in its own way.
        signal.signal(number, _end)
        if not stop.done():
            stop.set_result(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        loop.add_signal_handler(number, ask, number)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            if handler is not None:
                signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    """A handler that needs no event loop: whoever insists may do so because the loop is stuck."""
    _log.warning("asked twice; nothing is waited for", signal=signal.Signals(number).name)
    os._exit(128 + number)
