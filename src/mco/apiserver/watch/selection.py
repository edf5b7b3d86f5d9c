"""Which objects a list or a watch is about: a namespace, a name, labels, fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from mco.api.meta.selectors import EVERYTHING, Selector
from mco.apiserver.store.revision import Key


class _Metadata(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_labels = msgspec.json.Decoder(_Labelled)


class View:
    """An object's bytes, decoded no further than a selection needs."""

    __slots__ = ("_labels", "_object", "data", "key")

    def __init__(self, key: Key, data: bytes) -> None:
        self.key = key
        self.data = data
        self._labels: dict[str, str] | None = None
        self._object: Any = None

    @property
    def labels(self) -> dict[str, str]:
        if self._labels is None:
            self._labels = _labels.decode(self.data).metadata.labels or {}
        return self._labels

    def field(self, path: str) -> str:
        """A field as text; absent ones are empty, as field selectors have it."""
        if path == "metadata.name":
            return self.key.name
        if path == "metadata.namespace":
            return self.key.namespace
        if self._object is None:
            self._object = msgspec.json.decode(self.data)
        value = self._object
        for part in path.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)


class FieldTest(msgspec.Struct, frozen=True):
    path: str
    value: str
    equal: bool = True


class Selection(msgspec.Struct, frozen=True, dict=True):
    """`namespace` empty: all of them."""

    namespace: str = ""
    labels: Selector = EVERYTHING
    fields: tuple[FieldTest, ...] = ()

    @cached_property
    def name(self) -> str:
        """The only name that can match; empty when several can."""
        tests = (test for test in self.fields if test.path == "metadata.name" and test.equal)
        return next((test.value for test in tests), "")

    @cached_property
    def plain(self) -> bool:
        """Whether namespace and name alone decide, so that an object never enters or leaves."""
        return not self.labels.requirements and all(
            test.path.startswith("metadata.name") for test in self.fields
        )

    def matches(self, view: View) -> bool:
        if self.namespace and view.key.namespace != self.namespace:
            return False
        if any((view.field(test.path) == test.value) != test.equal for test in self.fields):
            return False
        return not self.labels.requirements or self.labels.matches(view.labels)


_TEST = re.compile(r"(?P<label>[^=!,]+?)(?P<operator>==|=|!=)(?P<value>.*)", re.DOTALL)
_SPLIT = re.compile(r"(?<!\\),")
_ESCAPE = re.compile(r"\\([\\,=])")


def parse_fields(text: str, path_of: Callable[[str], str]) -> tuple[FieldTest, ...]:
    """The tests of a `fieldSelector`.

    Raises ValueError with the API's text for a syntax error, and what `path_of` raises."""
    tests = []
    for part in filter(None, _SPLIT.split(text)):
        match = _TEST.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{part}'")
        path = path_of(match["label"])
        tests.append(FieldTest(path, _ESCAPE.sub(r"\1", match["value"]), match["operator"] != "!="))
    return tuple(tests)
