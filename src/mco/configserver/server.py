"""The listeners: sockets, their options, and the end of the process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl

from mco.base.errors import Unavailable
from mco.configserver.connection import Answer, Connection, Connections
from mco.configserver.limits import Limits
from mco.configserver.tlslayer import TLSLayer
from mco.runtime import memory
from mco.runtime.logging import Logger

_log = Logger("mco.configserver")

_BACKLOG = 4096
_UNSENT = 131_072
"""Bytes that the kernel buffers per connection beyond what is under way to the client. Without it a whole
answer fits into the send buffer, and thousands of slow clients would fill the machine's memory."""
_MANY = 50
"""So many clients must have left before memory is given back."""


class Server:
    """Serves `answer` on any number of listeners. All methods belong to one event loop."""

    def __init__(self, answer: Answer, limits: Limits | None = None) -> None:
        self._answer = answer
        self._limits = limits or Limits()
        self._connections = Connections()
        self._listeners: list[asyncio.Server] = []

    def _connection(self) -> Connection:
        return Connection(self._answer, self._limits, self._connections)

    def _over_tls(self, context: ssl.SSLContext) -> TLSLayer:
        return TLSLayer(context, self._connection(), deadline=self._limits.receive)

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def empty(self) -> None:
        """Returns once no client is connected."""
        await self._connections.gone()

    async def listen(self, host: str, port: int, context: ssl.SSLContext | None = None) -> int:
        """Open a listener, TLS unless `context` is None; returns its port (chosen if `port` is 0).

        `host` empty means all addresses. Raises Unavailable if the address cannot be taken."""
        bound = _bind(host, port)
        chosen: int = bound.getsockname()[1]
        server = await asyncio.get_running_loop().create_server(
            (lambda: self._over_tls(context)) if context else self._connection, sock=bound, backlog=_BACKLOG
        )
        self._listeners.append(server)
        _log.info("listening", host=host or "*", port=chosen, tls=context is not None)
        return chosen

    async def tidy(self, seconds: float = 1.0) -> None:
        """Give memory back whenever many clients have left, for ever."""
        most = 0
        while True:
            await asyncio.sleep(seconds)
            most = max(most, self.connections)
            if most - self.connections >= _MANY:
                most = self.connections
                await asyncio.to_thread(memory.give_back)

    async def close(self, grace: float = 20.0) -> None:
        """Take no new connections, let answers under way finish for `grace` seconds, then cut them off."""
        for listener in self._listeners:
            listener.close()
        for connection in self._connections:
            connection.finish()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._connections.gone(), grace)
        if self._connections:
            _log.warning("answers cut off", connections=len(self._connections))
        for connection in self._connections:
            connection.abort()


def _bind(host: str, port: int) -> socket.socket:
    dual = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual or ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, dualstack_ipv6=dual, backlog=_BACKLOG)
    except OSError as error:
        raise Unavailable(
            f"cannot listen on port {port}: {error.strerror}",
            path=f"{host or '*'}:{port}",
            hint="stop what listens there, or choose another port",
        ) from error
    bound.setblocking(False)
    # Connections inherit it from the listener.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
    return bound
