"""TLS between a TCP transport and a connection.

The event loops have a TLS layer of their own, but it hides the buffer below it, which holds 64 KiB and more
for each client that does not read: most of what a slow client costs. Here a chunk is encrypted when the
transport has room for it, and the handshake has the same deadline on every loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any, cast

_READ = 65_536
_NOBODY = asyncio.Protocol()
"""Stands above a lost connection: two objects that know each other would wait for the garbage collector."""


class TLSLayer(asyncio.Protocol, asyncio.Transport):
    """The protocol of a TCP connection, and the transport of `above`, which is connected once the handshake
    is done. What goes wrong before that is the client's own affair and closes the connection silently."""

    def __init__(self, context: ssl.SSLContext, above: asyncio.Protocol, *, deadline: float) -> None:
        """`deadline` is for the handshake, in seconds."""
        super().__init__()
        self._above = above
        self._deadline = deadline
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._below: asyncio.Transport
        self._timer: asyncio.TimerHandle | None = None
        self._ready = False
        self._over = False

    # The TCP transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods but not the base class.
        self._below = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(self._deadline, self._below.abort)

    def data_received(self, data: bytes) -> None:
        self._incoming.write(data)
        try:
            if not self._ready:
                self._tls.do_handshake()
                self._connected()
            self._read()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError:
            # What OpenSSL has to say about it, an alert, goes out first.
            self._flush()
            self._over = True
            self._below.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._over = True
        self._disarm()
        above, self._above = self._above, _NOBODY
        if self._ready:
            above.connection_lost(exc)

    def pause_writing(self) -> None:
        if self._ready:
            self._above.pause_writing()

    def resume_writing(self) -> None:
        if self._ready:
            self._above.resume_writing()

    def _connected(self) -> None:
        self._ready = True
        self._disarm()
        self._flush()
        self._above.connection_made(self)

    def _read(self) -> None:
        """Pass on what has arrived. Raises SSLWantReadError at its end."""
        while not self._over:
            data = self._tls.read(_READ)
            if not data:
                # The client said that it is done.
                self.close()
                return
            self._above.data_received(data)

    def _flush(self) -> None:
        if self._outgoing.pending and not self._over:
            self._below.write(self._outgoing.read())

    def _disarm(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    # The connection's side

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._over:
            self._tls.write(data)
            self._below.write(self._outgoing.read())

    def close(self) -> None:
        if self._over:
            return
        # It asks for the client's farewell, which nobody waits for.
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        self._flush()
        self._over = True
        self._below.close()

    def abort(self) -> None:
        self._over = True
        self._below.abort()

    def is_closing(self) -> bool:
        return self._over

    def pause_reading(self) -> None:
        self._below.pause_reading()

    def resume_reading(self) -> None:
        self._below.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._below.set_write_buffer_limits(high, low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._below.get_extra_info(name, default)
