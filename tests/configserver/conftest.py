"""Tests of the front run on both event loops: production uses uvloop, a program that embeds it asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import uvloop

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def pytest_asyncio_loop_factories() -> Mapping[str, LoopFactory]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
