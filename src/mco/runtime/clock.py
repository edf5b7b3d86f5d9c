"""The one source of time for everything with effects.

Pure packages get the time as an argument. Code that waits uses the event loop's timers (`asyncio.sleep`,
`asyncio.timeout`); a test puts such code on `mco.runtime.virtual`'s loop, where those timers cost no real
time.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall clock for what is written down, monotonic clock for what is measured, sleep for what waits."""

    def now(self) -> datetime:
        """The wall clock, in UTC and aware of it."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back; comparable with the event loop's time."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less only lets others run."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


def rfc3339(moment: datetime) -> str:
    """As Kubernetes writes times: `2026-11-30T17:22:17Z`, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(moment: datetime) -> str:
    """As Kubernetes writes MicroTime (leases): `2026-11-30T17:22:17.123456Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> datetime:
    """Raises ValueError when `text` is not an RFC 3339 time with a zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} has no zone")
    return moment.astimezone(UTC)
