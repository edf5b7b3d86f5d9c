"""An API server as the tests see it: a URL and credentials, whoever serves it."""

from __future__ import annotations

import abc
import asyncio
import base64
import contextlib
import io
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import yaml
from aiohttp.client_proto import ResponseHandler

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

Body = dict[str, Any]


def without_type(message: str) -> str:
    """Of an invalid object: servers before 1.36 print `"object"` where younger ones print nothing."""
    return message.replace('Invalid value: "object": ', "Invalid value: ", 1)


class Endpoint(abc.ABC):
    """A running server."""

    @property
    @abc.abstractmethod
    def is_real(self) -> bool:
        """Whether this is the judge."""

    @property
    @abc.abstractmethod
    def kubeconfig(self) -> Path:
        """An administrator's file."""

    @abc.abstractmethod
    def mint_kubeconfig(self, user: str, *groups: str) -> bytes:
        """For anybody, with a client certificate of the server's authority."""

    @abc.abstractmethod
    def start_controllers(self) -> None:
        """From now on garbage is collected."""

    @abc.abstractmethod
    def restart_controllers(self) -> None:
        """From now on they know the kinds that there are now."""

    @abc.abstractmethod
    def forget_history(self, revision: int) -> None:
        """Compacts: no list or watch goes back behind that revision."""

    def api(self) -> Api:
        """An administrator's connection; an async context manager."""
        return Api.of(self.kubeconfig.read_bytes())


class Reply(msgspec.Struct, frozen=True):
    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def message(self) -> str:
        return str(self.body["message"])


def _starts(reply: Reply) -> bool:
    return reply.status == 429 and "storage is (re)initializing" in str(reply.body)


class Api:
    """Requests as one user."""

    def __init__(self, url: str, context: ssl.SSLContext, headers: Mapping[str, str]) -> None:
        self._url = url
        self.context = context
        self._headers = headers
        self._session: aiohttp.ClientSession | None = None
        self.kinds: dict[str, tuple[str, str]] = {}
        """apiVersion and kind of what goes to a path: bodies of custom objects must say it."""

    @classmethod
    def of(cls, kubeconfig: bytes, **headers: str) -> Api:
        """`headers` are sent with each request; `_` in their names stands for `-`."""
        document = yaml.safe_load(kubeconfig)
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        context = ssl.create_default_context(cadata=_decode(cluster["certificate-authority-data"]))
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if "token" in user:
            headers["Authorization"] = f"Bearer {user['token']}"
        if "client-certificate-data" in user:
            _load_pair(context, user)
        return cls(cluster["server"], context, headers)

    @classmethod
    def stranger(cls, kubeconfig: bytes, *, token: str = "") -> Api:
        """Somebody who knows the server's authority and, perhaps, a token."""
        cluster = yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]
        context = ssl.create_default_context(cadata=_decode(cluster["certificate-authority-data"]))
        return cls(cluster["server"], context, {"Authorization": f"Bearer {token}"} if token else {})

    async def __aenter__(self) -> Api:
        connector = self._connector = _Connector(ssl=self.context, limit=0)
        self._session = aiohttp.ClientSession(self._url, connector=connector, headers=self._headers)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()
        await self._connector.all_closed()

    async def request(
        self, method: str, path: str, body: Any = None, *, kind: str = JSON, accept: str = JSON, **query: str
    ) -> Reply:
        """A definition that was written just now may not be ready on the real server, which then asks to
        wait, and has done nothing."""
        while _starts(reply := await self._ask(method, path, body, kind, accept, query)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return reply

    async def _ask(
        self, method: str, path: str, body: Any, kind: str, accept: str, query: Mapping[str, str]
    ) -> Reply:
        assert self._session is not None
        headers = {"Accept": accept}
        data = None
        if body is not None:
            headers["Content-Type"] = kind
            data = io.BytesIO(body if isinstance(body, bytes) else msgspec.json.encode(body))
        params = {name.rstrip("_"): value for name, value in query.items()}
        async with self._session.request(
            method, path, data=data, headers=headers, params=params, timeout=aiohttp.ClientTimeout(30)
        ) as response:
            raw = await response.read()
        # The real server sends the index of OpenAPI documents without a type.
        is_json = response.content_type == JSON or (path == "/openapi/v3" and response.status == 200)
        is_json = is_json and method != "HEAD"
        return Reply(response.status, msgspec.json.decode(raw) if is_json else raw, response.headers)

    async def get(self, path: str, **query: str) -> Reply:
        return await self.request("GET", path, **query)

    async def post(self, path: str, body: Any, **query: str) -> Reply:
        return await self.request("POST", path, self._typed(path, body), **query)

    async def put(self, path: str, body: Any, **query: str) -> Reply:
        return await self.request("PUT", path, self._typed(path.rpartition("/")[0], body), **query)

    def _typed(self, path: str, body: Any) -> Any:
        if not isinstance(body, dict) or path not in self.kinds:
            return body
        api_version, kind = self.kinds[path]
        return {"apiVersion": api_version, "kind": kind, **body}

    async def patch(self, path: str, body: Any, kind: str = MERGE, **query: str) -> Reply:
        return await self.request("PATCH", path, body, kind=kind, **query)

    async def delete(self, path: str, body: Any = None, **query: str) -> Reply:
        return await self.request("DELETE", path, body, **query)

    async def create(self, path: str, body: Body) -> Body:
        """Creates an object that must be accepted.

        The real server answers 503 for a moment while it replaces what serves a changed definition."""
        while (reply := await self.post(path, body)).status == 503:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert reply.status == 201, reply.body
        created: Body = reply.body
        return created

    @contextlib.asynccontextmanager
    async def watch(self, path: str, *, accept: str = JSON, **query: str) -> AsyncIterator[Events]:
        assert self._session is not None
        async with self._session.get(
            path, params={"watch": "true", **query}, headers={"Accept": accept}
        ) as response:
            yield Events(response)


class _Connector(aiohttp.TCPConnector):
    """Knows when its connections are really closed: before that, the event loop must not be."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._made: list[ResponseHandler] = []

    async def _create_connection(self, *arguments: Any, **more: Any) -> ResponseHandler:
        protocol = await super()._create_connection(*arguments, **more)
        self._made.append(protocol)
        return protocol

    async def all_closed(self) -> None:
        closed = (protocol.closed for protocol in self._made if protocol.closed is not None)
        # A watch that is left while the server still sends ends with an error; ended is what counts.
        await asyncio.gather(*closed, return_exceptions=True)


class Events:
    """What a watch sends, line by line."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self._rest = b""

    async def next(self) -> Body:
        """The next event. Raises EOFError when the server ended the watch, TimeoutError after ten seconds."""
        while b"\n" not in self._rest:
            async with asyncio.timeout(10):
                piece = await self.response.content.readany()
            if not piece:
                raise EOFError
            self._rest += piece
        line, self._rest = self._rest.split(b"\n", 1)
        event: Body = msgspec.json.decode(line)
        return event

    async def until(self, kind: str) -> list[Body]:
        """Events up to and with the first one of that type."""
        events = [await self.next()]
        while events[-1]["type"] != kind:
            events.append(await self.next())
        return events

    async def rest(self) -> list[Body]:
        """Events until the server ends the watch."""
        events = []
        with contextlib.suppress(EOFError):
            while True:
                events.append(await self.next())
        return events


def _decode(text: str) -> str:
    return base64.b64decode(text).decode()


def _load_pair(context: ssl.SSLContext, user: Mapping[str, str]) -> None:
    """The standard library only loads keys from files."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(_decode(user["client-certificate-data"]) + _decode(user["client-key-data"]))
        file.flush()
        context.load_cert_chain(file.name)
