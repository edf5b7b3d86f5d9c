"""A small HTTPS server that hands out one Ignition config, and remembers who asked."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from mco.lab.firstboot import Source
from mco.pki import authority

TOKEN = "Bearer secret-of-this-machine"
PORT = 22623


class ConfigServer:
    """`port`: a lab's own address has the usual one free; who shares an address brings a free one."""

    def __init__(self, address: str, config: Mapping[str, Any], port: int = PORT) -> None:
        now = datetime.now(UTC)
        self._authority = authority.create("test authority", now)
        self._pair = self._authority.server("test", [address], now)
        self.address = address
        self.port = port
        self.config = config
        self.status = 200
        self.requests: list[Mapping[str, str]] = []

    def source(self, token: str = TOKEN) -> Source:
        return Source(
            url=f"https://{self.address}:{self.port}/config/worker",
            ca=self._authority.certificate_pem,
            headers={"Authorization": token},
        )

    @contextlib.asynccontextmanager
    async def serving(self, folder: Path) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_get("/config/worker", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, self.address, self.port, ssl_context=self._context(folder)).start()
            yield
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.requests.append(dict(request.headers))
        if self.status != 200:
            return web.Response(status=self.status)
        if request.headers.get("Authorization") != TOKEN:
            return web.Response(status=401)
        return web.json_response(self.config)

    def _context(self, folder: Path) -> ssl.SSLContext:
        certificate, key = folder / "tls.crt", folder / "tls.key"
        certificate.write_bytes(self._pair.certificate)
        key.write_bytes(self._pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context
