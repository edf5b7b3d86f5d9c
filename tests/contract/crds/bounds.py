"""Cases of values that are just out of bounds, one at a time, in objects that are right everywhere else."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from tests.contract.crds.cases import Body, Case, Kind, Step

Wrong = Mapping[str, tuple[Any, str]]
"""Wrong values and their refusals, by paths as `files.0.path`."""


def too_long(most: int) -> str:
    return f"Too long: may not be more than {most} bytes"


def at_least(least: int) -> str:
    return f"should be greater than or equal to {least}"


def specs(kind: Kind, whole: Body, wrong: Wrong, below: str = "") -> Iterator[Case]:
    """A creation of the whole, and one for each wrong value; their paths begin below that one."""
    yield kind.accepted(f"everything in bounds, {_field('spec', below)}", whole)
    for path, value, error in _rows(wrong, below):
        changed = _changed(whole, path, value)
        yield kind.refused(_title("spec", path, value), changed, error, _field("spec", path))


def statuses(kind: Kind, spec: Body, whole: Body, wrong: Wrong, below: str = "") -> Iterator[Case]:
    """The same for the status of an object with that spec."""
    yield kind.status(f"everything in bounds, {_field('status', below)}", spec, whole)
    for path, value, error in _rows(wrong, below):
        step = Step("status", _changed(whole, path, value), error, _field("status", path))
        yield kind.steps(_title("status", path, value), Step("create", spec), step)


def _rows(wrong: Wrong, below: str) -> Iterator[tuple[str, Any, str]]:
    for path, (value, error) in wrong.items():
        yield f"{below}.{path}" if below else path, value, error


def _title(part: str, path: str, value: Any) -> str:
    short = f"{len(value)} characters" if isinstance(value, str) else str(value)
    return f"out of bounds, {_field(part, path)}, {short}"


def _field(part: str, path: str) -> str:
    """The path as a server writes it."""
    steps = path.split(".") if path else []
    return part + "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in steps)


def _changed(body: Body, path: str, value: Any) -> Body:
    changed = copy.deepcopy(body)
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    place: Any = changed
    for step in way:
        place = place[step]
    place[last] = value
    return changed
