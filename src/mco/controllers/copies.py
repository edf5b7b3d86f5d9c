"""Asks nodes for their copies of rendered configs, takes what they give, and leaves nothing of it behind.

An answer is Secrets that name their request. They are removed before the request is, so that whoever comes
after this process still finds what is left to do.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import secrets
from collections.abc import Mapping
from typing import Any

from mco.api import names, resources
from mco.api.configcopies import KEY, MAX_PARTS, Request, requested, secret_name
from mco.api.core import Node
from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.base.errors import InvalidInput, MCOError
from mco.controllers.newest import Newest
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.store import Store
from mco.plan.pool.copies import Take
from mco.render import copies
from mco.runtime.clock import Clock, parse_rfc3339
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.copies")

_TIDY = 600.0
"""Seconds between two looks at what is left over, and the age at which it counts as such."""
_PAGE = 4
_HEADS = Resource("", "v1", "secrets", "Secret", Object, True)
"""Without their contents."""


class NodeCopies:
    """`nodes` is the shared cache's store; what was written to a Node since counts, too."""

    def __init__(self, client: Client, nodes: Store[Node], clock: Clock) -> None:
        self._client = client
        self._nodes = nodes
        self._clock = clock
        self._newest: Newest[Node] = Newest()

    def nodes(self) -> list[Node]:
        return [self._newest.of(node) for node in self._nodes.values()]

    def forget(self, node: str) -> None:
        self._newest.forget(node)

    async def ask(self, node: Node, config: str) -> str:
        """The request's nonce. Raises ConflictError when the Node has changed: others may have asked."""
        request = Request(secrets.token_hex(8), config)
        await self._annotate(node, {names.COPY_WANTED: str(request), names.COPY_GIVEN: None})
        _log.info("a node is asked for its copy of a config", node=node.name, config=config)
        return request.nonce

    async def read(self, given: Take, config: str) -> copies.Spec:
        """Raises InvalidInput when it is not that config, whole and as it was rendered."""
        packed = b"".join([await self._part(given, number) for number in range(given.parts)])
        return copies.unpack(config, packed)

    async def _part(self, given: Take, number: int) -> bytes:
        name = secret_name(given.node.name, given.nonce, number)
        try:
            found = await self._client.get(resources.SECRETS, name, namespace=names.NAMESPACE)
            return base64.b64decode((found.data or {})[KEY], validate=True)
        except (NotFoundError, KeyError, binascii.Error) as error:
            raise InvalidInput(f"part {number + 1} of {given.parts} is missing") from error

    async def close(self, node: Node) -> None:
        """Removes the request, and before it whatever came of it."""
        if (request := requested(node)) is not None:
            for number in range(MAX_PARTS):
                await self._remove(secret_name(node.name, request.nonce, number))
        with contextlib.suppress(NotFoundError):
            await self._annotate(node, {names.COPY_WANTED: None, names.COPY_GIVEN: None})

    async def _annotate(self, node: Node, annotations: Mapping[str, str | None]) -> None:
        metadata = {"resourceVersion": node.metadata.resource_version, "annotations": annotations}
        body: dict[str, Any] = {"metadata": metadata}
        self._newest.wrote(await self._client.patch(resources.NODES, node.name, body))

    async def _remove(self, secret: str) -> None:
        with contextlib.suppress(NotFoundError):
            await self._client.delete(resources.SECRETS, secret, namespace=names.NAMESPACE)

    async def keep_tidy(self) -> None:
        """Removes what nobody waits for any more, until cancelled."""
        while True:
            try:
                await self.tidy()
            except MCOError as error:
                _log.warning("copies that nodes gave are not looked after now", error=str(error))
            await self._clock.sleep(_TIDY)

    async def tidy(self) -> None:
        """Left over is what a node gave too late, or without having been asked."""
        found = await self._client.list(
            _HEADS, namespace=names.NAMESPACE, label_selector=names.COPY_LABEL, limit=_PAGE
        )
        awaited = {request.nonce for node in self.nodes() if (request := requested(node))}
        for secret in found.items:
            if secret.metadata.label(names.COPY_LABEL) not in awaited and self._is_old(secret):
                _log.warning("a copy of a config that nobody waits for is removed", secret=secret.name)
                await self._remove(secret.name)

    def _is_old(self, secret: Object) -> bool:
        """By the clock that stamped it."""
        made = parse_rfc3339(secret.metadata.creation_timestamp or "")
        now = self._client.server_time or self._clock.now()
        return (now - made).total_seconds() > _TIDY
