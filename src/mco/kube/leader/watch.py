"""What a candidate looks at while it waits: the Lease, and the holder's Pod and Node."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from mco.api.core import Lease, Node, Pod
from mco.api.meta.objects import Object
from mco.api.resources import LEASES, NODES, PODS, Resource
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.kube.leader.holder import Holder

T = TypeVar("T", bound=Object)


class Watch:
    """`changed` is set whenever something that matters changed; `pod` and `node` are the holder's, as the API
    has them now. Entered as an async context manager around the wait."""

    def __init__(self, client: Client, namespace: str, lease: str) -> None:
        self.changed = asyncio.Event()
        self.pod: Pod | None = None
        self.node: Node | None = None
        self._client = client
        self._holder: Holder | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._lease: Informer[Lease] = Informer(
            client, LEASES, namespace=namespace, field_selector=f"metadata.name={lease}"
        )
        self._lease.add_handler(lambda *_: self.changed.set())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._lease.run())
        try:
            yield
        finally:
            await _end([task, *self._tasks])

    async def follow(self, holder: Holder | None) -> None:
        """Look at this holder's Pod and Node from now on."""
        if holder == self._holder:
            return
        await _end(self._tasks)
        self._holder, self._tasks, self.pod, self.node = holder, [], None, None
        if holder is not None and holder.pod:
            self._follow(PODS, holder.pod, self._pod_changed, namespace=holder.namespace)
        if holder is not None and holder.node_uid:
            self._follow(NODES, holder.node, self._node_changed)

    def _follow(
        self, res: Resource[T], name: str, handler: Callable[[Any, Any], None], *, namespace: str = ""
    ) -> None:
        informer = Informer(
            self._client, res, namespace=namespace, field_selector=f"metadata.name={name}"
        )  # fmt: skip
        informer.add_handler(handler)
        self._tasks.append(asyncio.create_task(informer.run()))

    def _pod_changed(self, _: Pod | None, new: Pod | None) -> None:
        self.pod = new
        self.changed.set()

    def _node_changed(self, _: Node | None, new: Node | None) -> None:
        self.node = new
        self.changed.set()


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
