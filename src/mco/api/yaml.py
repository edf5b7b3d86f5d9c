"""Manifests as text: YAML, with several documents, and JSON, read as the original and kubectl read them.

Scalars are typed as yaml.v2 does and keys become strings as in its JSON conversion (`yamlreader`), so
`mode: 0644` is 420 and a date stays text. Two things are refused that the library lets pass: a key that
stands twice in one mapping, where one of the two would silently win, and text that is not UTF-8.

Every error is an InvalidInput that names the source, the line and the column.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

from mco.api.meta.objects import JSON
from mco.api.yamlreader import Reader, fail, whole

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


class Document(msgspec.Struct, frozen=True):
    """One document of a source; `line` is where its content starts."""

    value: JSON
    source: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.source}, line {self.line}"


def load_all(text: bytes, source: str) -> list[JSON]:
    """The documents of `text` without the empty ones; `source` names it in errors."""
    return [document.value for document in load_documents(text, source)]


def load_documents(text: bytes, source: str) -> list[Document]:
    """As `load_all`, each with its place."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - text.rfind(b"\n", 0, error.start)
        fail(source, line, column, "the text is not UTF-8", "save it as UTF-8; write binary data as base64")
    if text.lstrip()[:1] == b"{":
        values = _load_json(text)
        if values is not None:
            return [Document(value, source, line) for value, line in values]
    return [Document(value, source, line) for value, line in Reader(text, source).documents()]


def _load_json(text: bytes) -> list[tuple[JSON, int]] | None:
    """A stream of JSON values with their lines; None when it is not one: the YAML reader then says why."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_number, parse_constant=_number)
    string, values, at = text.decode(), [], 0
    try:
        while at < len(string):
            if string[at] in " \t\r\n":
                at += 1
                continue
            value, end = decoder.raw_decode(string, at)
            values.append((value, string.count("\n", 0, at) + 1))
            at = end
    except (ValueError, RecursionError):
        return None
    return [(_mended(value), line) for value, line in values] if _SURROGATE.search(text) else values


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate key")
    return made


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return whole(value)


def _mended(value: JSON) -> JSON:
    """`value` with U+FFFD for each half of a surrogate pair that stands alone, as Go decodes it."""
    match value:
        case str():
            return _LONE.sub("\ufffd", value)
        case dict():
            return {_mended(key): _mended(item) for key, item in value.items()}
        case list():
            return [_mended(item) for item in value]
        case _:
            return value
