"""A raw HTTP client, an authority and prepared answers without a cluster, for tests of the front."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mco.configserver.admission import Admission
from mco.configserver.front import Front, NotServed
from mco.configserver.limits import Limits
from mco.configserver.prepared import Prepared
from mco.configserver.server import Server
from mco.configserver.tls import Profile
from mco.pki import authority
from mco.pki.authority import Authority
from mco.pki.serving import ServingCertificate
from mco.runtime.clock import SystemClock

TOKEN = "abc123.0123456789abcdef"


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes


class FixedConfigs:
    """Answers that are there, and one that has to be made first."""

    def __init__(self, pools: Mapping[str, Prepared]) -> None:
        self._pools = pools

    def ready(self, pool: str, version: str) -> Prepared | None:
        if pool not in self._pools:
            raise NotServed(f"there is no pool {pool}")
        prepared = self._pools[pool]
        return prepared if prepared.version == version else None

    async def prepare(self, pool: str, version: str) -> Prepared:
        await asyncio.sleep(0)
        return msgspec.structs.replace(self._pools[pool], version=version)


def prepared(size: int, name: str = "rendered-worker-1") -> Prepared:
    """`size` bytes with a token in the middle."""
    half = (size - len(TOKEN)) // 2
    return Prepared(name, "3.5.0", b"<" + b"a" * (half - 1), b"b" * (size - len(TOKEN) - half - 1) + b">")


@asynccontextmanager
async def served(
    front: Front, limits: Limits | None = None, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[Server, int]]:
    server = Server(front.answer, limits)
    port = await server.listen("127.0.0.1", 0, context)
    try:
        yield server, port
    finally:
        await server.close(grace=0)


def fixed_front(size: int = 200_000) -> Front:
    configs = FixedConfigs({"worker": prepared(size)})
    return Front(configs, lambda *_: Admission(TOKEN), SystemClock())


def now() -> datetime:
    return datetime.now(UTC)


def write_pair(root: Authority, folder: Path, common_name: str) -> tuple[Path, Path]:
    """A serving certificate for 127.0.0.1 as `tls.crt` and `tls.key`."""
    pair = root.server(common_name, ["127.0.0.1", "localhost"], now())
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return certificate, key


def new_authority() -> Authority:
    return authority.create("test root", now())


def serving(root: Authority, folder: Path, profile: Profile | None = None) -> ServingCertificate:
    return ServingCertificate(*write_pair(root, folder, "first"), (profile or Profile()).context)


def trusting(root: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=root.certificate_pem.decode())


class Wire:
    """One connection; reads answers as they are on the wire."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, method: str, target: str, **headers: str) -> Answer:
        await self.send(method, target, **headers)
        return await self.answer(method)

    async def send(self, method: str, target: str, **headers: str) -> None:
        lines = [f"{method} {target} HTTP/1.1", "Host: mcs"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self.writer.drain()

    async def answer(self, method: str = "GET") -> Answer:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            key.lower(): value for key, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        length = 0 if method == "HEAD" else int(headers["content-length"])
        return Answer(int(head[0].split()[1]), headers, await self.reader.readexactly(length))

    async def closed(self) -> None:
        """Returns when the server has closed the connection, however it did."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            pass


@asynccontextmanager
async def connected(port: int, context: ssl.SSLContext | None = None) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()


async def ask(
    port: int, method: str, target: str, context: ssl.SSLContext | None = None, **headers: str
) -> Answer:
    async with connected(port, context) as wire:
        return await wire.ask(method, target, **headers)
