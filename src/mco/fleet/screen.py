"""What a person sees while a fleet comes up: a live table on a terminal, a line per change elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, TextIO

import msgspec

if TYPE_CHECKING:
    from rich.table import Table


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One machine: `phase` in words, `config` the rendered name it is at or on its way to, boots after the
    first one as `reboots`."""

    name: str
    pool: str = ""
    phase: str = "waiting"
    config: str = ""
    reboots: int = 0
    note: str = ""


class Screen(Protocol):
    def say(self, text: str = "") -> None:
        """A line that stays."""

    def show(self, rows: Iterable[Row]) -> None:
        """The machines as they are now."""

    def calm(self) -> None:
        """From now on it only moves when something changes, so that text can be selected and copied."""

    def close(self) -> None:
        """The live part is over."""


class Lines:
    """For logs and pipes: every change of a row is a line, with the seconds since the start."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._began = clock()
        self._said: dict[str, str] = {}

    def say(self, text: str = "") -> None:
        # A reader that has gone must not keep anybody from cleaning up.
        with contextlib.suppress(OSError):
            print(text, file=self._out, flush=True)

    def show(self, rows: Iterable[Row]) -> None:
        for row in rows:
            text = describe(row)
            if self._said.get(row.name) != text:
                self._said[row.name] = text
                self.say(f"[{self._clock() - self._began:5.1f}s] {text}")

    def calm(self) -> None:
        pass

    def close(self) -> None:
        pass


def describe(row: Row) -> str:
    reboots = f", {row.reboots} reboot{'' if row.reboots == 1 else 's'}" if row.reboots else ""
    config = f" {row.config}" if row.config else ""
    note = f" ({row.note})" if row.note else ""
    return f"{row.name:10} {row.phase}{config}{reboots}{note}"


class Live:
    """For a terminal: one table that changes in place, above it what was said."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        self._clock = clock
        self._began = clock()
        self._console = Console(highlight=False)
        self._rows: tuple[Row, ...] = ()
        self._calm = False
        self._live: RichLive | None = None

    def say(self, text: str = "") -> None:
        with contextlib.suppress(OSError):
            self._console.print(text, markup=False)

    def show(self, rows: Iterable[Row]) -> None:
        from rich.live import Live as RichLive

        shown, self._rows = self._rows, tuple(rows)
        if self._live is None:
            self._live = RichLive(
                get_renderable=self._table,
                console=self._console,
                auto_refresh=not self._calm,
                refresh_per_second=8,
                transient=False,
            )
            self._live.start(refresh=True)
        elif self._calm and shown != self._rows:
            self._live.refresh()

    def calm(self) -> None:
        self._calm = True

    def close(self) -> None:
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.stop()
            self._live = None

    def _table(self) -> Table:
        from rich.table import Table

        elapsed = f"{self._clock() - self._began:.1f} s"
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("MACHINE", "POOL", "PHASE", "CONFIG", "REBOOTS", elapsed):
            table.add_column(title)
        for row in self._rows:
            table.add_row(row.name, row.pool, row.phase, row.config, str(row.reboots), row.note)
        return table


def open_screen(out: TextIO) -> Screen:
    return Live() if out.isatty() else Lines(out)
