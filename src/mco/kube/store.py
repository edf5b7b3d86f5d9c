"""What an informer knows: objects by key, and indexes over them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Generic, TypeVar, get_args

import msgspec

from mco.api.meta.objects import Object

T = TypeVar("T", bound=Object)
Indexer = Callable[[T], Iterable[str]]
"""The values under which an object is found, as a Node by the pools that select it."""

_LONGEST_SHARED = 512


class Store(Generic[T]):
    """Read it like a mapping from `namespace/name` (or `name`) to objects. Only its informer writes."""

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}
        self._indexers: dict[str, Indexer[T]] = {}
        self._indexes: dict[str, dict[str, dict[str, None]]] = {}

    def get(self, key: str) -> T | None:
        return self._objects.get(key)

    def keys(self) -> KeysView[str]:
        return self._objects.keys()

    def values(self) -> ValuesView[T]:
        return self._objects.values()

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def index(self, name: str, value: str) -> list[T]:
        """The objects that indexer `name` files under `value`, in the order of their arrival."""
        return [self._objects[key] for key in self._indexes[name].get(value, ())]

    def add_indexer(self, name: str, indexer: Indexer[T]) -> None:
        """File every object, present and future, under the values of `indexer`."""
        self._indexers[name] = indexer
        self._indexes[name] = {}
        for key, obj in self._objects.items():
            self._file(name, key, indexer(obj))

    def put(self, obj: T) -> T | None:
        """Store `obj`; the object it replaces is returned."""
        key = obj.key
        old = self._objects.get(key)
        self._objects[key] = obj
        for name, indexer in self._indexers.items():
            if old is not None:
                self._unfile(name, key, indexer(old))
            self._file(name, key, indexer(obj))
        return old

    def pop(self, key: str) -> T | None:
        old = self._objects.pop(key, None)
        if old is not None:
            for name, indexer in self._indexers.items():
                self._unfile(name, key, indexer(old))
        return old

    def _file(self, name: str, key: str, values: Iterable[str]) -> None:
        for value in values:
            self._indexes[name].setdefault(value, {})[key] = None

    def _unfile(self, name: str, key: str, values: Iterable[str]) -> None:
        index = self._indexes[name]
        for value in values:
            filed = index.get(value, {})
            filed.pop(key, None)
            if not filed:
                index.pop(value, None)


def share_strings(obj: Any) -> None:
    """Make equal strings of all cached objects one: thousands of nodes repeat the same labels, annotations,
    condition reasons and config names. Only for objects that nobody else has seen yet."""
    kind: Any = type(obj)
    for name, is_text in _shareable(kind):
        value = getattr(obj, name)
        if is_text:
            if type(value) is str and len(value) <= _LONGEST_SHARED:
                msgspec.structs.force_setattr(obj, name, sys.intern(value))
        elif isinstance(value, dict):
            _share_mapping(obj, name, value)
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, msgspec.Struct):
                    share_strings(item)
        elif isinstance(value, msgspec.Struct):
            share_strings(value)


def _share_mapping(obj: Any, name: str, mapping: dict[Any, Any]) -> None:
    if all(type(value) is str and len(value) <= _LONGEST_SHARED for value in mapping.values()):
        shared = {sys.intern(key): sys.intern(value) for key, value in mapping.items()}
        msgspec.structs.force_setattr(obj, name, shared)


@functools.cache
def _shareable(type_: Any) -> tuple[tuple[str, bool], ...]:
    """The fields worth a look, with whether they are plain texts; numbers, flags and raw bytes are not."""
    plan = []
    for field in msgspec.structs.fields(type_):
        kinds = set(get_args(field.type) or (field.type,)) - {type(None)}
        if field.name not in _UNIQUE and not kinds & {int, bool, float, msgspec.Raw}:
            plan.append((field.name, kinds == {str}))
    return tuple(plan)


_UNIQUE = frozenset({"uid", "resource_version", "last_heartbeat_time", "renew_time"})
"""Different in every object, or soon replaced: sharing them would only fill the table."""
