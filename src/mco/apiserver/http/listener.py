"""Sockets, TLS and connections: started when bound, stopped within a second."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from email.utils import formatdate
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from mco.apiserver.http.protocol import Protocol
from mco.base.errors import Unavailable

HANDSHAKE_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 90
GRACE_SECONDS = 2.0
BACKLOG = 1024

Application = Callable[[Any, Any, Any], Awaitable[None]]

# X509_V_FLAG_NO_CHECK_TIME: an expired client certificate must end in an answer (401), not in a broken
# handshake, which a client cannot tell from a network failure. Authentication checks the time.
_NO_CHECK_TIME = 0x200000


def tls_context(certificate: Path, key: Path, client_ca: Path) -> ssl.SSLContext:
    """Server context that asks for a client certificate and accepts clients without one."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(client_ca))
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
    context.set_alpn_protocols(["http/1.1"])
    # A third of a handshake's time; neither kubectl nor our own clients resume sessions.
    context.num_tickets = 0
    return context


def bind(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Listening sockets, all on one port; port 0 chooses a free one.

    Raises Unavailable naming the address that cannot be used."""
    sockets: list[socket.socket] = []
    try:
        for address in addresses:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            # Without the protocol's number asyncio does not switch Nagle's algorithm off, and each answer,
            # a head and a body, waits 40 ms for the client's delayed acknowledgement.
            sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            sockets.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((address, port))
            sock.setblocking(False)
            port = sock.getsockname()[1]
    except OSError as error:
        for sock in sockets:
            sock.close()
        raise Unavailable(
            f"cannot listen on {address}:{port}: {error.strerror}", hint="choose another --bind or --port"
        ) from error
    return sockets


class Listener:
    """Serves an ASGI application on sockets; answers say what time it is by `now`."""

    def __init__(
        self, application: Application, context: ssl.SSLContext, now: Callable[[], datetime]
    ) -> None:
        self._now = now
        self._config = uvicorn.Config(
            application,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        self._config.load()
        self._state = ServerState()
        self._context = context
        self._servers: list[asyncio.Server] = []
        self._clock: asyncio.Task[None] | None = None

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        self._clock = asyncio.create_task(self._date())
        for sock in sockets:
            server = await loop.create_server(
                lambda: Protocol(self._config, self._state, {}),
                sock=sock,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                backlog=BACKLOG,
            )
            self._servers.append(server)

    async def stop(self) -> None:
        """No new connections; requests under way get two seconds, then their connections are cut."""
        for server in self._servers:
            server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        if tasks := set(self._state.tasks):
            _, late = await asyncio.wait(tasks, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=GRACE_SECONDS)
        for connection in list(self._state.connections):
            connection.transport.abort()
        if self._clock:
            self._clock.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._clock

    async def _date(self) -> None:
        while True:
            self._state.default_headers = [
                (b"date", formatdate(self._now().timestamp(), usegmt=True).encode())
            ]
            await asyncio.sleep(1)
