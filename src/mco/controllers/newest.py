"""What a controller wrote, for as long as its cache has not heard of it."""

from __future__ import annotations

from typing import Generic, TypeVar

from mco.api.meta.objects import Object, older

T = TypeVar("T", bound=Object)


class Newest(Generic[T]):
    """Of an object in a cache and the answer to a write, the newer one."""

    def __init__(self) -> None:
        self._written: dict[str, T] = {}

    def wrote(self, obj: T) -> T:
        self._written[obj.key] = obj
        return obj

    def of(self, cached: T) -> T:
        written = self._written.get(cached.key)
        if written is None or older(cached, written):
            return written or cached
        del self._written[cached.key]
        return cached

    def forget(self, key: str) -> None:
        self._written.pop(key, None)
