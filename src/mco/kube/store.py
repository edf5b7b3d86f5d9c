"""What an informer knows: objects by key, and indexes over them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, KeysView, ValuesView
from enum import Enum
from typing import Any, Generic, TypeVar, get_args, get_origin

import msgspec

from mco.api.meta.objects import Object

T = TypeVar("T", bound=Object)
Indexer = Callable[[T], Iterable[str]]
"""The values under which an object is found, as a Node by the pools that select it."""


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


class _Kind(Enum):
    TEXT = 1
    MAPPING = 2
    ITEMS = 3
    STRUCT = 4


def share_parts(new: Any, old: Any = None) -> None:
    """Keep what equal objects have in common only once: `new` takes over the parts that are equal in `old`,
    its predecessor, and every other text in it becomes the one that is already known. Thousands of nodes
    repeat the same labels, condition reasons and config names, and an update changes little.

    Only for an object that nobody else has seen yet."""
    for name, kind in _plan(type(new)):
        value = getattr(new, name)
        if not value:
            continue
        before = getattr(old, name) if old is not None else None
        if before == value:
            msgspec.structs.force_setattr(new, name, before)
        elif kind is _Kind.TEXT:
            msgspec.structs.force_setattr(new, name, sys.intern(value))
        elif kind is _Kind.MAPPING:
            shared = {sys.intern(key): sys.intern(text) for key, text in value.items()}
            msgspec.structs.force_setattr(new, name, shared)
        elif kind is _Kind.ITEMS:
            for item in value:
                share_parts(item)
        else:
            share_parts(value, before)


def _plan(type_: Any) -> tuple[tuple[str, _Kind], ...]:
    """The fields worth a look: not numbers, flags and raw bytes."""
    plan = _PLANS.get(type_)
    if plan is None:
        kinds = ((field.name, _kind_of(field.type)) for field in msgspec.structs.fields(type_))
        plan = tuple((name, kind) for name, kind in kinds if kind is not None and name not in _UNIQUE)
        _PLANS[type_] = plan
    return plan


def _kind_of(type_: Any) -> _Kind | None:
    variants = [variant for variant in get_args(type_) if variant is not type(None)]
    if type(None) in get_args(type_) and len(variants) == 1:
        type_ = variants[0]
    if type_ is str:
        return _Kind.TEXT
    if type_ == dict[str, str]:
        return _Kind.MAPPING
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return _Kind.STRUCT
    items = get_args(type_)[:1] if get_origin(type_) is tuple else ()
    return _Kind.ITEMS if items and _kind_of(items[0]) is _Kind.STRUCT else None


_PLANS: dict[Any, tuple[tuple[str, _Kind], ...]] = {}
_UNIQUE = frozenset({"uid", "resource_version", "last_heartbeat_time", "renew_time"})
"""Different in every object, or soon replaced: sharing them would only fill the table."""
