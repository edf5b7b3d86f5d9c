"""Waiting for components that start: there is nothing yet that could be watched."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from mco.base.errors import MCOError, Unavailable
from mco.fleet.components import Supervisor, last_lines
from mco.kube.client import Client

_PATIENCE = 30.0
_ATTEMPTS = 3
_POLL = 0.03


async def until(condition: AsyncIterator[bool], supervisor: Supervisor) -> None:
    """Raises Unavailable, with the end of its log, when the component does not come up."""
    name, trouble = supervisor.component.name, f"is not ready after {_PATIENCE:g} s"
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            async for reached in condition:
                if reached:
                    return
                if supervisor.failures >= _ATTEMPTS:
                    trouble = f"does not start: it {supervisor.trouble}, {supervisor.failures} times in a row"
                    break
                await asyncio.sleep(_POLL)
    said = "\n".join(last_lines(supervisor.component.log))
    raise Unavailable(
        f"{name} {trouble}",
        path=str(supervisor.component.log),
        hint=f"it said last:\n{said}" if said else "",
    )


async def exists(path: Path) -> AsyncIterator[bool]:
    while True:
        yield path.exists()  # noqa: ASYNC240 - one stat of a local file


async def ready(client: Client) -> AsyncIterator[bool]:
    while True:
        try:
            await client.request("GET", "/readyz")
            yield True
        except MCOError:
            yield False


async def listening(address: str, port: int) -> AsyncIterator[bool]:
    while True:
        try:
            _, writer = await asyncio.open_connection(address, port)
            writer.close()
            yield True
        except OSError:
            yield False
