"""What carries a request to an API server, as a protocol: the network (`http.py`), or a server in the same
process.

One call is one attempt. What to do about a refusal or a lost connection is the client's business.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from mco.kube.requests import Request


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """An answer whose body arrives over time."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes; raises Unreachable when the connection breaks."""

    async def read(self) -> bytes:
        """The whole body, for a refusal."""


class Transport(Protocol):
    async def send(self, request: Request) -> Answer:
        """Raises Unreachable when no complete answer came."""

    def stream(self, request: Request, timeout: float) -> AbstractAsyncContextManager[Stream]:
        """The answer as soon as its head is there; the connection is closed when the context is left.
        `timeout` in seconds bounds the whole of it."""

    def refused(self) -> None:
        """The server did not accept who we are: look at the credentials again before the next request."""

    async def close(self) -> None: ...
