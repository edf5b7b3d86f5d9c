"""The grammar of requests: which verb on which resource, and with which options."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.datastructures import Headers, QueryParams

from mco.apiserver import errors
from mco.apiserver.auth.user import NOBODY, User
from mco.apiserver.http.protocol import Connection

BODY_LIMIT = 3 * 1024 * 1024
BODY_SECONDS = 60.0
_VERBS = {
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
    "GET": "get",
    "HEAD": "get",
}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a request is about. `verb` is the API's (`list`, not GET); `resource` is empty when the path does
    not belong to a resource, and `path` then is what counts."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Request(msgspec.Struct, kw_only=True):
    method: str
    target: Target
    query: QueryParams
    headers: Headers
    receive: Any
    connection: Connection
    user: User = NOBODY
    _body: bytes | None = None

    def flag(self, name: str) -> bool:
        return self.query.get(name, "") not in ("", "0", "false", "False")

    async def body(self) -> bytes:
        """Raises StatusError 413 as soon as the body is longer than allowed."""
        if self._body is None:
            self._body = await self._receive()
        return self._body

    async def has_body(self) -> bool:
        return bool((await self.body()).strip())

    async def _receive(self) -> bytes:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._read()
        except TimeoutError:
            raise errors.StatusError(
                408, "Timeout", "the body of the request did not arrive in time"
            ) from None

    async def _read(self) -> bytes:
        if int(self.headers.get("content-length") or 0) > BODY_LIMIT:
            raise errors.too_large(f"limit is {BODY_LIMIT}")
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise errors.bad_request("the client went away")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > BODY_LIMIT:
                raise errors.too_large(f"limit is {BODY_LIMIT}")
            if not message.get("more_body"):
                return b"".join(parts)

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def parse_target(method: str, path: str, query: QueryParams) -> Target:
    """`/api/v1/namespaces/a/pods/b/status` and the like; any other path is a target without a resource."""
    verb = _VERBS.get(method, method.lower())
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Target(verb=verb, path=path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    resource, name, subresource = rest[0], "", ""
    if len(rest) > 1:
        name = rest[1]
    if len(rest) > 2:
        subresource = "/".join(rest[2:])
    if not name:
        watching = query.get("watch", "false") not in ("0", "false", "False")
        verb = {"get": "watch" if watching else "list", "delete": "deletecollection"}.get(verb, verb)
    return Target(
        verb=verb,
        path=path,
        group=group,
        version=version,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
    )
