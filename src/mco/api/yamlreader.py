"""YAML text to values, straight from the parser's events: node objects would cost as much as the scanning.

The rules are yaml.v2's with its conversion to JSON: implicit types (`scalars`), tags, anchors and aliases,
merge keys, keys as text. A key that stands twice in one mapping is an error, and so are aliases that multiply
a document beyond measure.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import yaml
from yaml._yaml import CParser

from mco.api.meta.objects import JSON
from mco.api.scalars import Scalar, is_date, resolve
from mco.base.errors import InvalidInput

_MAX_DEPTH: Final = 500
_CORE: Final = "tag:yaml.org,2002:"
_MERGE_TAG: Final = _CORE + "merge"

_HINTS: Final = (
    ("that cannot start any token", "quote the value; indent with spaces, never with tabs"),
    ("mapping values are not allowed", "check the indentation, and quote a value that contains ': '"),
    ("could not find expected ':'", "check the indentation of the lines above"),
    ("block end", "check the indentation of this line and of the ones above"),
    ("already set in map", "remove one of the two, or merge their values"),
    ("excessive aliasing", "write the repeated parts out"),
    ("undefined alias", "define the anchor above the alias in the same document"),
    ("control characters", "write the character as an escape in double quotes, or the data as base64"),
)


def fail(source: str, line: int, column: int, problem: str, hint: str = "") -> NoReturn:
    hint = hint or next((text for words, text in _HINTS if words in problem), "")
    raise InvalidInput(
        f"error parsing {source}: line {line}, column {column}: {problem}", subject=source, hint=hint
    )


class _Frame:
    """A collection that is being read; a mapping has the `key` whose value is due, or waits for a key."""

    __slots__ = ("anchor", "explicit", "key", "key_mark", "mapping", "sequence", "started")

    def __init__(self, event: Any, started: int) -> None:
        self.mapping: dict[str, Any] | None = {} if type(event) is yaml.MappingStartEvent else None
        self.sequence: list[Any] = []
        self.anchor: str | None = event.anchor
        self.started = started
        self.key: str | None = None
        self.key_mark: Any = None
        # Keys of the mapping itself, once others came in by a merge.
        self.explicit: set[str] | None = None


_MERGE_KEY: Final = "<<\0merge"
"""Stands for an unquoted `<<`; it cannot collide with a key that anybody writes."""


class Reader:
    """Builds values straight from the parser's events; node objects would cost as much as the scanning."""

    def __init__(self, text: bytes, source: str) -> None:
        self._text = text
        self._source = source
        self._parser = CParser(text)
        self._anchors: dict[str, tuple[JSON, int]] = {}
        self._open: set[str] = set()
        self._nodes = 0
        self._aliased = 0

    def documents(self) -> Iterator[tuple[JSON, int]]:
        try:
            while True:
                event: Any = self._parser.get_event()
                kind = type(event)
                if kind is yaml.StreamEndEvent:
                    return
                if kind is yaml.DocumentStartEvent:
                    self._anchors, self._open, self._nodes, self._aliased = {}, set(), 0, 0
                    first: Any = self._parser.peek_event()
                    value = self._node()
                    if value is not None:
                        yield value, first.start_mark.line + 1
        except yaml.reader.ReaderError as error:
            before = self._text[: error.position] if isinstance(error.position, int) else b""
            column = len(before) - before.rfind(b"\n")
            fail(self._source, before.count(b"\n") + 1, column, "control characters are not allowed")
        except yaml.MarkedYAMLError as error:
            problem = " ".join(filter(None, (error.problem, error.context)))
            self._error(error.problem_mark or error.context_mark, problem)

    def _error(self, mark: Any, problem: str, hint: str = "") -> NoReturn:
        fail(self._source, mark.line + 1, mark.column + 1, problem, hint)

    def _node(self) -> JSON:
        """The next node with everything below it."""
        get_event = self._parser.get_event
        stack: list[_Frame] = []
        while True:
            event: Any = get_event()
            kind = type(event)
            self._nodes += 1
            frame = stack[-1] if stack else None
            if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                value = self._closed(stack.pop())
                frame = stack[-1] if stack else None
            elif frame is not None and frame.mapping is not None and frame.key is None:
                self._set_key(frame, frame.mapping, event)
                continue
            elif kind is yaml.ScalarEvent:
                value = self._scalar(event)
                if event.anchor:
                    self._anchors[event.anchor] = (value, 1)
            elif kind is yaml.AliasEvent:
                value = self._alias(event)
            else:
                self._open_frame(stack, event)
                continue
            if frame is None:
                return value
            if frame.mapping is None:
                frame.sequence.append(value)
            elif frame.key == _MERGE_KEY:
                self._merge(frame, frame.mapping, value, by_alias=kind is yaml.AliasEvent)
            else:
                frame.mapping[frame.key or ""] = value
            frame.key = None

    def _open_frame(self, stack: list[_Frame], event: Any) -> None:
        if len(stack) >= _MAX_DEPTH:
            self._error(event.start_mark, f"nested deeper than {_MAX_DEPTH} levels")
        if event.anchor:
            self._open.add(event.anchor)
        stack.append(_Frame(event, self._nodes))

    def _closed(self, frame: _Frame) -> JSON:
        value = frame.sequence if frame.mapping is None else frame.mapping
        if frame.anchor:
            self._open.discard(frame.anchor)
            self._anchors[frame.anchor] = (value, self._nodes - frame.started)
        return value

    def _alias(self, event: Any) -> JSON:
        if event.anchor in self._open:
            self._error(event.start_mark, f"anchor '{event.anchor}' value contains itself")
        if event.anchor not in self._anchors:
            self._error(event.start_mark, f"undefined alias '{event.anchor}'")
        value, size = self._anchors[event.anchor]
        self._nodes += size
        self._aliased += size + 1
        if (
            self._nodes > 1000
            and self._aliased > 100
            and self._aliased / self._nodes > _allowed_ratio(self._nodes)
        ):
            self._error(event.start_mark, "document contains excessive aliasing")
        return value

    def _set_key(self, frame: _Frame, mapping: dict[str, Any], event: Any) -> None:
        if type(event) is yaml.ScalarEvent:
            key = self._key(event)
            if event.anchor:
                self._anchors[event.anchor] = (self._scalar(event), 1)
        else:
            shared = self._alias(event) if type(event) is yaml.AliasEvent else None
            if not isinstance(shared, str):
                self._error(event.start_mark, "invalid map key", "use text as the key")
            key = shared
        if key in (mapping if frame.explicit is None else frame.explicit):
            self._error(event.start_mark, f'key "{key}" already set in map')
        if frame.explicit is not None and key != _MERGE_KEY:
            frame.explicit.add(key)
        frame.key, frame.key_mark = key, event.start_mark

    def _merge(self, frame: _Frame, mapping: dict[str, Any], value: JSON, *, by_alias: bool) -> None:
        """Puts the keys of the merged mappings over the earlier ones and under the later ones, as yaml.v2."""
        parts = value[::-1] if isinstance(value, list) and not by_alias else [value]
        if not all(isinstance(part, dict) for part in parts):
            self._error(frame.key_mark, "map merge requires map or sequence of maps as the value")
        if frame.explicit is None:
            frame.explicit = set(mapping)
        for part in parts:
            mapping.update(part)

    def _key(self, event: Any) -> str:
        value = event.value
        if event.tag is None and not event.implicit[0]:
            return str(value)
        if value == "<<" and event.tag in (None, _MERGE_TAG):
            return _MERGE_KEY
        resolved = self._typed(event)
        if isinstance(resolved, str):
            return resolved
        if resolved is None:
            self._error(event.start_mark, "a key is empty or null", "quote the key")
        if isinstance(resolved, bool):
            return "true" if resolved else "false"
        return _float_key(resolved) if isinstance(resolved, float) else str(resolved)

    def _scalar(self, event: Any) -> Scalar:
        if event.tag is None and not event.implicit[0]:
            return event.value  # type: ignore[no-any-return]
        value = self._typed(event)
        if isinstance(value, float):
            if not math.isfinite(value):
                self._error(
                    event.start_mark, f"{event.value} is not a number that JSON has", "quote the value"
                )
            return whole(value)
        return value

    def _typed(self, event: Any) -> Scalar:
        tag, text = event.tag, event.value
        if tag is None:
            return resolve(text)
        kind = tag.removeprefix(_CORE)
        if kind == "binary":
            try:
                return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True).decode("utf-8", "replace")
            except (binascii.Error, ValueError):
                self._error(event.start_mark, "!!binary value contains invalid base64 data")
        if kind not in ("bool", "int", "float", "null", "timestamp"):
            return str(text)
        value = resolve(text)
        if kind == "float" and type(value) is int:
            return float(value)
        if _kind(value, text) != kind:
            self._error(event.start_mark, f"cannot decode !!{_kind(value, text)} `{text}` as a !!{kind}")
        return value


def _kind(value: Scalar, text: str) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case _:
            return "timestamp" if is_date(text) else "str"


def whole(value: float) -> int | float:
    """Go writes a float without a fraction as a JSON integer, up to 1e21."""
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _float_key(value: float) -> str:
    """A float as the original turns one into a key: the shortest text that reads as the same 32-bit float."""
    if value != value:
        return ".nan"
    try:
        single = struct.pack("f", value)
    except OverflowError:
        return ".inf" if value > 0 else "-.inf"
    rounded = struct.unpack("f", single)[0]
    if rounded in (float("inf"), float("-inf")):
        return ".inf" if rounded > 0 else "-.inf"
    digits = next(n for n in range(9) if struct.pack("f", float(f"{rounded:.{n}e}")) == single)
    exponent = int(f"{rounded:.{digits}e}".partition("e")[2])
    if -4 <= exponent < 6:
        return f"{rounded:.{max(digits - exponent, 0)}f}"
    return f"{rounded:.{digits}e}"


def _allowed_ratio(nodes: int) -> float:
    """Which part of a document may come from aliases: nearly all of a small one, a tenth of a huge one."""
    low, high = 400_000, 4_000_000
    if nodes <= low:
        return 0.99
    return 0.10 if nodes >= high else 0.99 - 0.89 * (nodes - low) / (high - low)
