"""Nodes without a server: as much of one as simulated nodes need, in the same process and at no cost of time.

It stands where the network stands in other places (`kube.transport`): objects are JSON, patches are merged,
every write has the next version, and everybody who follows a kind sees it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import msgspec

from mco.api.meta.objects import Object
from mco.api.meta.patches import merge
from mco.api.resources import Resource
from mco.kube.requests import Request
from mco.kube.transport import Answer, Stream

T = TypeVar("T", bound=Object)
Follower = Callable[[Any, Any], object]


class Memory:
    """A `Transport` for GET and merge patches of cluster-scoped objects."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, Any]] = {}
        self._views: dict[str, Object] = {}
        self._kinds: dict[str, type[Object]] = {}
        self._followers: dict[str, list[Follower]] = {}
        self._version = 0
        self.writes = 0

    def add(self, res: Resource[T], body: Mapping[str, Any]) -> None:
        name = body["metadata"]["name"]
        self._kinds[res.path()] = res.type
        document = {"apiVersion": res.api_version, "kind": res.kind, **body}
        self._put(res.path(name), merge(document, {"metadata": {"uid": f"{res.plural}/{name}"}}))

    def patch(self, res: Resource[Any], name: str, body: Mapping[str, Any]) -> None:
        path = res.path(name)
        self._put(path, merge(self._objects[path], body))

    def follow(self, res: Resource[T], name: str, follower: Follower) -> None:
        """Told at once what is there, then of every change."""
        path = res.path(name)
        self._followers.setdefault(path, []).append(follower)
        if path in self._views:
            follower(None, self._views[path])

    def leave(self, res: Resource[T], name: str, follower: Follower) -> None:
        self._followers[res.path(name)].remove(follower)

    def _put(self, path: str, document: dict[str, Any]) -> None:
        self._version += 1
        self.writes += 1
        document = merge(document, {"metadata": {"resourceVersion": str(self._version)}})
        old = self._views.get(path)
        kind = self._kinds[path.rpartition("/")[0]]
        view = msgspec.json.decode(msgspec.json.encode(document), type=kind)
        self._objects[path], self._views[path] = document, view
        for follower in list(self._followers.get(path, ())):
            follower(old, view)

    # Transport

    async def send(self, request: Request) -> Answer:
        path = request.path.removesuffix("/status")
        if path not in self._objects:
            gone = {"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"}
            return Answer(404, {}, msgspec.json.encode(gone))
        if request.method == "PATCH":
            self._put(path, merge(self._objects[path], msgspec.json.decode(request.body or b"{}")))
        return Answer(200, {}, msgspec.json.encode(self._objects[path]))

    def stream(self, request: Request, timeout: float) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError("objects in memory are followed, not watched")

    def refused(self) -> None:
        pass

    async def close(self) -> None:
        pass
