"""A response as the bytes of HTTP/1.1."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from mco.configserver.front import Response


def head(response: Response, *, close: bool) -> bytes:
    """Status line and headers; `close` says that no further request is read."""
    status = HTTPStatus(response.status)
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        *(f"{name}: {value}" for name, value in response.headers),
        f"Content-Length: {response.length}",
        f"Date: {_date(int(time.time()))}",
        *(("Connection: close",) if close else ()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@lru_cache(maxsize=1)
def _date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


def chunks(start: bytes, body: Sequence[bytes], size: int) -> Iterator[bytes | memoryview]:
    """`start` and `body` in pieces of at most `size`. Small pieces are joined, so that headers and a token
    need no records of their own; large ones are views of the shared bytes."""
    small = start
    for piece in body:
        room = size - len(small)
        if len(piece) <= room:
            small += piece
            continue
        if small:
            yield small + piece[:room]
        view = memoryview(piece)[room if small else 0 :]
        whole = len(view) - len(view) % size
        for offset in range(0, whole, size):
            yield view[offset : offset + size]
        small = bytes(view[whole:])
    if small:
        yield small
