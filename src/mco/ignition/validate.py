"""Validates a config against every rule of spec/render.md 10 and lists everything that it finds.

Entries come in the original's order: first what the rules find, walking the structs from the outside in, then
elements that are defined twice.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import msgspec

from mco.ignition import types as t
from mco.ignition.report import OK, ROOT, Findings, Report
from mco.ignition.rules.table import RULES, Rule
from mco.ignition.schema import SHARED, Kind, fields, key_of

NEWEST = 5
_SHARED = "shared"


def validate(config: t.Config, minor: int = NEWEST) -> Report:
    """Judges a config by the rules of spec 3.`minor`; positions are left to whoever has the text."""
    walk = _Walk(minor)
    walk.visit(config, ROOT)
    entries = walk.found.entries + walk.twice.entries
    return Report(tuple(entries)) if entries else OK


class _Step(NamedTuple):
    """A field to look into."""

    name: str
    key: str
    kind: Kind
    default: Any
    duplicates: str  # the key space in which elements may stand only once; "" where they may repeat


class _Plan(NamedTuple):
    """What to do with one struct."""

    rule: Rule | None
    steps: tuple[_Step, ...]


class _Walk:
    def __init__(self, minor: int) -> None:
        self.found = Findings(minor)
        self.twice = Findings(minor)

    def visit(self, value: Any, path: str) -> None:
        struct: type = type(value)
        rule, steps = _plan(struct)
        if rule is not None:
            rule(value, path, self.found)
        filled = []
        for step in steps:
            inner = getattr(value, step[0])
            if inner is not step[3]:
                filled.append((step, inner))
        if not filled:
            return
        spaces: dict[str, set[str]] = {}
        for (_, key, _, _, space), inner in filled:
            if space and (len(inner) > 1 or space == _SHARED):
                self._check_twice(inner, f"{path}.{key}", spaces.setdefault(space, set()))
        for (_, key, kind, _, _), inner in filled:
            if kind is Kind.STRUCT:
                self.visit(inner, f"{path}.{key}")
            elif kind is Kind.STRUCTS:
                for index, item in enumerate(inner):
                    self.visit(item, f"{path}.{key}.{index}")

    def _check_twice(self, items: tuple[Any, ...], path: str, seen: set[str]) -> None:
        for index, item in enumerate(items):
            key = key_of(item)
            if key in seen:
                self.twice.error(f"{path}.{index}", "duplicate entry defined")
            seen.add(key)


@cache
def _plan(struct: type) -> _Plan:
    shared = SHARED.get(struct, ())
    steps = []
    for field in fields(struct):
        if field.kind in (Kind.VALUE, Kind.OPTIONAL):
            continue
        if field.kind is Kind.STRUCT:
            space = ""
        else:
            space = "" if field.concatenates else _SHARED if field.name in shared else field.name
        steps.append(_Step(field.name, field.key, field.kind, _default(struct, field.name), space))
    return _Plan(RULES.get(struct), tuple(steps))


def _default(struct: type, name: str) -> Any:
    return next(info.default for info in msgspec.structs.fields(struct) if info.name == name)
