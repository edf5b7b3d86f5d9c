"""Somebody pipes the output into `head`, or closes the terminal."""

from __future__ import annotations

import io

from mco.fleet.screen import Lines, Row


class _Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_has_gone_stops_nobody() -> None:
    lines = Lines(_Gone())
    lines.say("hello")
    lines.show([Row(name="worker-1")])
    lines.close()
