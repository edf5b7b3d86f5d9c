"""The network transport: the only user of an HTTP client library in this package."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from typing import Any

import aiohttp
from yarl import URL

from mco.kube.config import Cluster
from mco.kube.credentials import Credentials
from mco.kube.errors import Unreachable
from mco.kube.requests import Request
from mco.kube.transport import Answer
from mco.runtime.clock import Clock

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 65.0
"""A little more than the 60 s after which a kube-apiserver gives up a request by itself."""
_READ_BUFFER = 1 << 20
_AWAY = "is the API server running, and can this machine reach it?"
_UNTRUSTED = "the kubeconfig's certificate authority and server name must match the server's certificate"
_FAILURES = (aiohttp.ClientError, TimeoutError, ssl.SSLError, OSError)


class HTTPTransport:
    """Keep-alive connections to one server. A changed client certificate moves new requests to new
    connections; the old ones, with the watches on them, live until they end. An answer that is no stream has
    to come within `answer` seconds."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        user_agent: str = "mco",
        clock: Clock | None = None,
        answer: float = _ANSWER_SECONDS,
    ) -> None:
        self._cluster = cluster
        self._credentials = Credentials(cluster, clock)
        self._user_agent = user_agent
        self._answer = answer
        self._pool: _Pool | None = None
        self._retired: set[_Pool] = set()

    async def send(self, request: Request) -> Answer:
        with _translated(request):
            async with self._lease() as pool, self._call(pool, request, self._answer) as response:
                return Answer(response.status, response.headers, await response.read())

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, timeout: float) -> AsyncIterator[_Stream]:
        async with contextlib.AsyncExitStack() as stack:
            with _translated(request):
                pool = await stack.enter_async_context(self._lease())
                response = await stack.enter_async_context(self._call(pool, request, timeout))
            yield _Stream(response, request)

    def refused(self) -> None:
        self._credentials.forget()

    async def close(self) -> None:
        pools, self._pool = [*self._retired, *([self._pool] if self._pool else [])], None
        for pool in pools:
            await pool.session.close()

    def _call(self, pool: _Pool, request: Request, total: float) -> Any:
        return pool.session.request(
            request.method,
            # Quoted already; a second round would turn %2F into %252F.
            URL(self._cluster.server + request.path, encoded=True).update_query(request.params),
            data=_in_pieces(request.body),
            headers={**self._credentials.headers, "Content-Type": request.content_type},
            timeout=aiohttp.ClientTimeout(total=total, sock_connect=_CONNECT_SECONDS),
            proxy=self._cluster.proxy_url or None,
            server_hostname=self._cluster.tls_server_name or None,
            allow_redirects=False,
        )

    @contextlib.asynccontextmanager
    async def _lease(self) -> AsyncIterator[_Pool]:
        """The pool of the present credentials, kept open while it is in use."""
        await self._credentials.refresh()
        pool = self._current()
        pool.users += 1
        try:
            yield pool
        finally:
            pool.users -= 1
            await self._close_unused()

    def _current(self) -> _Pool:
        if self._pool is None or self._pool.generation != self._credentials.generation:
            if self._pool is not None:
                self._retired.add(self._pool)
            self._pool = _Pool(self._credentials, self._user_agent)
        return self._pool

    async def _close_unused(self) -> None:
        unused = {pool for pool in self._retired if not pool.users}
        self._retired -= unused
        for pool in unused:
            await pool.session.close()


def _in_pieces(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body is handed to the library as a file: in one piece it would hold up everything else."""
    return body if body is None or len(body) <= _READ_BUFFER else io.BytesIO(body)


class _Pool:
    def __init__(self, credentials: Credentials, user_agent: str) -> None:
        self.generation = credentials.generation
        self.users = 0
        self.session = aiohttp.ClientSession(
            # No limit: each watch holds a connection for itself, and the server has its own fairness.
            connector=aiohttp.TCPConnector(
                limit=0, ssl=credentials.context or True, socket_factory=_socket, keepalive_timeout=30
            ),
            # Inflating costs more than a local network: ask for plain bytes.
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": user_agent},
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BUFFER,
        )
        # The library would silently repeat a PUT or DELETE whose answer got lost; what may be repeated is the
        # client's decision. There is no public switch for it.
        self.session._retry_connection = False


class _Stream:
    def __init__(self, response: aiohttp.ClientResponse, request: Request) -> None:
        self._response = response
        self._request = request

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        with _translated(self._request):
            async for chunk in self._response.content.iter_any():
                yield chunk

    async def read(self) -> bytes:
        with _translated(self._request):
            return await self._response.read()


@contextlib.contextmanager
def _translated(request: Request) -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        untrusted = isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError)
        raise Unreachable(
            f"{request.method} {request.path} got no answer: {_cause(error)}",
            subject=request.subject,
            hint=_UNTRUSTED if untrusted else _AWAY,
        ) from error


def _cause(error: Exception) -> str:
    """For a person: the system's words and whom it was about, in place of the library's."""
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        number = error.os_error.errno or 0
        # Below zero are those of name resolution; above, the event loop puts its own words in their place.
        said = os.strerror(number) if number > 0 else error.os_error.strerror
        return f"{said} ({error.host}:{error.port})"
    return str(error) or ("timed out" if isinstance(error, TimeoutError) else type(error).__name__)


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A watch is silent for minutes: keep-alive finds a peer that is gone without a word, within a minute."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 20)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000)
    return made
