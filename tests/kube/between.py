"""A proxy that stands between the client and an API server and does harm.

It answers for the server, cuts a connection in the middle of a line, shortens a watch, keeps everybody out.
Built on the scripted server: an answer is a coroutine, and `Passage.forward` is the one that changes nothing.
"""

from __future__ import annotations

import asyncio
import ssl
from urllib.parse import urlencode

from yarl import URL

from mco.kube.config import Cluster
from mco.kube.credentials import Credentials
from tests.kube.scripted import Answer, Asked, Wire

_PIECE = 1 << 16


class Passage:
    """The way to a server, as whom `cluster` says."""

    def __init__(self, cluster: Cluster) -> None:
        self._url = URL(cluster.server)
        self._context = Credentials(cluster).context

    async def forward(self, asked: Asked, wire: Wire, *, cut_inside: bytes = b"", **params: str) -> int:
        """Passes on the request, with `params` changed, and the answer as it comes. The answer's status.

        `cut_inside`: when these bytes come by, half of them are delivered; then the connection is reset."""
        reader, writer = await asyncio.open_connection(self._url.host, self._url.port, ssl=self._context)
        try:
            writer.write(_request(asked, params))
            await writer.drain()
            return await _relay(reader, wire, cut_inside)
        except ssl.SSLError:
            # A server that was killed ends its side without the courtesies of TLS.
            return 0
        finally:
            writer.transport.abort()
            wire.close()


def in_turn(passage: Passage, *answers: Answer) -> Answer:
    """The n-th watch is answered by the n-th of `answers`; everything else is passed on."""
    pending = list(answers)

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.watches and pending:
            await pending.pop(0)(asked, wire)
        else:
            await passage.forward(asked, wire)

    return answer


def _request(asked: Asked, params: dict[str, str]) -> bytes:
    kept = {"accept", "content-type", "content-length", "user-agent"}
    headers = {name: value for name, value in asked.headers.items() if name in kept}
    query = urlencode(asked.params | params)
    lines = [f"{asked.method} {asked.path}?{query} HTTP/1.1", "Host: real", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode() + asked.body


async def _relay(reader: asyncio.StreamReader, wire: Wire, cut_inside: bytes) -> int:
    seen, head = b"", b""
    while piece := await reader.read(_PIECE):
        head = head or piece
        start = (seen + piece).find(cut_inside) if cut_inside else -1
        if start >= 0:
            await wire.pass_on(piece[: max(0, start - len(seen)) + len(cut_inside) // 2])
            # What was sent must have been read: a reset throws away what still lies in the socket.
            await wire.taken()
            wire.reset()
            break
        await wire.pass_on(piece)
        seen = (seen + piece)[-len(cut_inside) :] if cut_inside else b""
    return int(head.split(b" ", 2)[1]) if head else 0
