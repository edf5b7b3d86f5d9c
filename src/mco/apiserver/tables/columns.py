"""Printer columns: a name and how to compute a cell from an object."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from mco.api.meta.jsonpath import compile_path

Obj = dict[str, Any]
Cell = Callable[[Obj, datetime], Any]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """`priority` above 0 means `-o wide`; `cell` gets the object and the time of the answer."""

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description or self.name,
            "priority": self.priority,
        }


def path_column(name: str, path: str, *, kind: str = "string", **more: Any) -> Column:
    """A column of a CustomResourceDefinition. Raises InvalidInput for a path that cannot be understood."""
    find = compile_path(path)

    def cell(obj: Obj, now: datetime) -> Any:
        found = find(obj)
        if not found:
            return None
        return _typed(found, kind, now)

    return Column(name=name, cell=cell, type=kind, **more)


def _typed(found: list[Any], kind: str, now: datetime) -> Any:
    value = found[0]
    if kind == "date":
        return age(value, now)
    if kind in ("integer", "number", "boolean"):
        return value if isinstance(value, int | float) else None
    if len(found) > 1:
        return ",".join(_text(item) for item in found)
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def age(timestamp: Any, now: datetime) -> str:
    """How long ago, as `kubectl` prints it; `<unknown>` when there is no time."""
    if not isinstance(timestamp, str):
        return "<unknown>"
    try:
        moment = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    except ValueError:
        return "<invalid>"
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return human_duration(int((now - moment).total_seconds()))


def human_duration(seconds: int) -> str:
    """Two significant parts at most, fewer the longer it is: 95s, 4m10s, 5h3m, 3d4h, 2y10d."""
    if seconds < 0:
        return "0s" if seconds >= -1 else "<invalid>"
    minutes, hours = seconds // 60, seconds // 3600
    days, years = hours // 24, hours // 24 // 365
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if years < 8:
        return _two(years, "y", days % 365, "d")
    return f"{years}y"


def _two(major: int, major_unit: str, minor: int, minor_unit: str) -> str:
    return f"{major}{major_unit}" + (f"{minor}{minor_unit}" if minor else "")


AGE = path_column(
    "Age",
    ".metadata.creationTimestamp",
    kind="date",
    description="CreationTimestamp is a timestamp representing the server time when this object was created.",
)
NAME = Column(
    name="Name",
    cell=lambda obj, now: obj["metadata"].get("name", ""),
    format="name",
    description="Name must be unique within a namespace.",
)
