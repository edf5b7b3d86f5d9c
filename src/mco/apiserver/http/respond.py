"""Answers: bytes at once, in pieces, or as long as the client stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

JSON = "application/json"
PIECE = 64 * 1024


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`body` is bytes, or pieces that are sent as they come; closing them early is a broken connection."""

    status: int = 200
    body: bytes | AsyncIterator[bytes] = b""
    content_type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


def encode(value: Any, status: int = 200) -> Answer:
    return Answer(status=status, body=msgspec.json.encode(value))


async def send_answer(answer: Answer, send: Any, *, head: bool = False) -> None:
    """Sends it; a long body goes in pieces, so that a slow reader does not make the server hold all of it."""
    body = answer.body
    headers = [(b"content-type", answer.content_type.encode()), *answer.headers]
    if isinstance(body, bytes):
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if head:
        await send({"type": "http.response.body", "body": b""})
    elif not isinstance(body, bytes):
        async for piece in body:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            del piece  # not to be kept until there is another one
        await send({"type": "http.response.body", "body": b""})
    elif len(body) <= PIECE:
        await send({"type": "http.response.body", "body": body})
    else:
        for start in range(0, len(body), PIECE):
            more = start + PIECE < len(body)
            await send({"type": "http.response.body", "body": body[start : start + PIECE], "more_body": more})
