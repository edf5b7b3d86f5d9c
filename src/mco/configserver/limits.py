"""What one client may take of the server's time and memory."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds, sizes in bytes. The original sets none of these (spec/operator.md 3.1)."""

    receive: float = 10.0
    """From the connection until the handshake is done, and from then or from the first byte of a further
    request until the request is complete; single bytes in between buy no more time."""

    idle: float = 75.0
    """A kept-alive connection without a request."""

    stall: float = 60.0
    """A client that has not taken anything of its answer for so long is gone."""

    request: int = 65_536
    """Request line, headers and whatever body somebody sends; the body is ignored."""

    pipelined: int = 16
    """Requests that may wait on one connection while one is answered."""

    connections: int = 10_000
    """At the same time; further ones are closed at once."""

    chunk: int = 36_864
    """Of an answer, per write. A slow client holds one write in memory; smaller ones cost
    fast clients more: this size keeps both budgets of the benchmark."""
