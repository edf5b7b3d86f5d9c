"""Hands over the node's own copy of a rendered config that the cluster has lost, when it is asked to.

Only a config whose content has the hash in its name leaves the machine, only into Secrets that this node may
make and not read, and only as long as the request stands. Secrets that are there already are this node's own,
of an earlier attempt at the same request: no other node may make one of that name.
"""

from __future__ import annotations

import asyncio
import contextlib

from mco.api import names
from mco.api.configcopies import MAX_PARTS, PART_BYTES, Answer, Request, answered, requested, secret
from mco.api.core import Node
from mco.api.resources import NODES, SECRETS
from mco.base.errors import InvalidInput, MCOError, Unavailable
from mco.daemon.context import Context
from mco.kube.backoff import Backoff
from mco.kube.errors import AlreadyExists, Invalid
from mco.kube.requests import PatchKind
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.lending")

_KEYS = (names.COPY_WANTED, names.COPY_GIVEN)


class Lending:
    """`asked` is told of every version of the Node."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._task: asyncio.Task[None] | None = None
        self._tried: Request | None = None

    def asked(self, node: Node) -> None:
        """One task at a time: a request that is withdrawn ends by itself, for the machine's worker must not
        be told to stop because of it."""
        idle = self._task is None or self._task.done()
        if idle and requested(node) not in (None, self._tried):
            self._task = asyncio.create_task(self._answer_all())

    def stop(self) -> asyncio.Task[None] | None:
        """With the agent. What may still be running, on its way to its end."""
        if self._task is not None:
            self._task.cancel()
        return self._task

    async def _answer_all(self) -> None:
        while (node := self._context.reporter.node) is not None:
            request = requested(node)
            if request is None or request == self._tried or answered(node) is not None:
                return
            await self._answer(request)
            self._tried = request

    async def _answer(self, request: Request) -> None:
        """Tries as long as the server is away; whatever else is wrong, the controller is not kept waiting."""
        backoff = Backoff(first=0.5, longest=10.0)
        while (node := self._asking(request)) is not None:
            try:
                await self._say(request, await self._give(node, request))
                return
            except Unavailable as error:
                _log.warning("a copy cannot be handed over now", config=request.config, error=str(error))
                await self._context.clock.sleep(backoff.next())
            except MCOError as error:
                _log.error("a copy cannot be handed over", config=request.config, error=str(error))
                with contextlib.suppress(MCOError):
                    await self._say(request, 0)
                return

    def _asking(self, request: Request) -> Node | None:
        """The Node, if it is still asked for that."""
        node = self._context.reporter.node
        return node if node is not None and requested(node) == request else None

    async def _give(self, node: Node, request: Request) -> int:
        """In how many Secrets the copy is, 0 if there is none."""
        packed = await self._context.worker(self._packed, request.config)
        parts = [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)]
        if len(parts) > MAX_PARTS:
            raise InvalidInput(f"{request.config} is too large to be handed over")
        for number, part in enumerate(parts):
            body = secret(node, request.nonce, number, part)
            with contextlib.suppress(AlreadyExists):
                await self._context.client.create(SECRETS, body, namespace=names.NAMESPACE)
        _log.info("asked for a copy of a config", config=request.config, parts=len(parts))
        return len(parts)

    def _packed(self, config: str) -> bytes:
        # Rarely needed: an idle daemon does without it.
        from mco.render import copies

        for _, raw in self._context.configs.copies(config):
            with contextlib.suppress(InvalidInput):
                return copies.pack(copies.spec_kept(config, raw))
        return b""

    async def _say(self, request: Request, parts: int) -> None:
        """Nothing, if the request is gone meanwhile."""
        asked, given = (f"/metadata/annotations/{key.replace('/', '~1')}" for key in _KEYS)
        patch = [
            {"op": "test", "path": asked, "value": str(request)},
            {"op": "add", "path": given, "value": str(Answer(request.nonce, parts))},
        ]
        with contextlib.suppress(Invalid):
            node = await self._context.client.patch(NODES, self._context.name, patch, kind=PatchKind.JSON)
            self._context.reporter.saw_node(node)
