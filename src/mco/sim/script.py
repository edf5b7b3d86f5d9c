"""What happens to simulated machines, drawn from a seed: the same script gives the same fates, in whatever
order nodes ask."""

from __future__ import annotations

import math
import random
import re

import msgspec

from mco.base.errors import InvalidInput

_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:-([0-9]+(?:\.[0-9]+)?))?")


class Span(msgspec.Struct, frozen=True):
    """Seconds, evenly drawn from `least` to `most`."""

    least: float = 0.0
    most: float = 0.0

    def draw(self, source: random.Random) -> float:
        return source.uniform(self.least, self.most)


NOTHING = Span()


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """One node on its way to one config: seconds of each part, and how many attempts fail before one
    succeeds; with `math.inf` none ever does."""

    drain: float = 0.0
    apply: float = 0.0
    reboot: float = 0.0
    failures: float = 0


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """`brief`: a node that is told a config says at once that it is there, without anything in between.
    `failing`: the share of updates that fail, 0 to 1, each `failures` times. `drain` counts only where no
    drain controller answers, in a rehearsal. `retry`: seconds between attempts. `reason`: what a node
    says that failed."""

    seed: int = 1
    brief: bool = False
    drain: Span = NOTHING
    apply: Span = NOTHING
    reboot: Span = NOTHING
    failing: float = 0.0
    failures: float = 1
    retry: float = 1.0
    reason: str = "simulated failure"

    def fate(self, node: str, config: str) -> Fate:
        source = random.Random(f"{self.seed}/{node}/{config}")
        fails = source.random() < self.failing
        return Fate(
            drain=self.drain.draw(source),
            apply=self.apply.draw(source),
            reboot=self.reboot.draw(source),
            failures=self.failures if fails else 0,
        )


def parse_span(text: str) -> Span:
    """`3`, or `2-10`: seconds. Raises InvalidInput."""
    match = _SPAN.fullmatch(text)
    least = float(match[1]) if match else math.nan
    most = float(match[2] or match[1]) if match else math.nan
    if not least <= most:
        raise InvalidInput(f'"{text}" is no span of seconds', hint="3, or from least to most: 2-10")
    return Span(least, most)
