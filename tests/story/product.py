"""What a story is told with: API server, operator, controllers and config server, in one process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mco.apiserver.server import Running, Settings, running
from mco.configserver.cluster import Access
from mco.configserver.process import Listeners, run_cluster
from mco.controllers.process import Controllers, Pace
from mco.fleet.seed import guard
from mco.kube.client import Client
from mco.kube.config import load
from mco.operator import process
from mco.operator.install import install
from mco.operator.objects import Installation
from mco.pki import authority as pki
from mco.pki import files
from mco.pki.authority import Authority
from mco.runtime import version, virtual
from mco.runtime.supervise import beside
from mco.runtime.virtual import VirtualClock
from tests.story.world import World


@contextlib.asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    # It begins now: the TLS library looks at the real clock.
    clock = VirtualClock(datetime.now(UTC))
    data = folder / "api"
    async with running(Settings(data_dir=data)) as api, Client(load(api.kubeconfig)) as client:
        signer = pki.load(data / "ca.crt", data / "ca.key")
        installation = Installation(
            server=api.url, ca=signer.certificate_pem, version="0.1.0", commit=version.commit()
        )
        controllers = Controllers(client, clock, authority=signer, pace=Pace(settle=0.0))
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        await install(client, installation)
        await guard(client)
        async with beside(
            process.run(client, installation, clock),
            *(part() for part in controllers.parts.values()),
            _config_server(folder, api, signer, clock, port),
        ):
            made = World(folder, client, clock, signer, api.url, await port)
            async with beside(made.follow()):
                try:
                    yield made
                finally:
                    await made.end()
        await controllers.close()


async def _config_server(
    folder: Path, api: Running, signer: Authority, clock: VirtualClock, port: asyncio.Future[int]
) -> None:
    pair = signer.server("config-server", ("127.0.0.1",), clock.now())
    certificate, key = folder / "tls.crt", folder / "tls.key"
    files.write(certificate, pair.certificate)
    files.write(key, pair.key)
    await run_cluster(
        load(api.kubeconfig),
        Access(server=api.url, authorities=signer.certificate_pem),
        Listeners(certificate=certificate, key=key, bind="127.0.0.1", secure_port=0, grace=1.0),
        require_token=True,
        started=lambda listening: port.set_result(listening.secure),
        signals=False,
    )


def told(folder: Path, story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """Runs a story in virtual time."""

    async def tell() -> None:
        async with world(folder) as made:
            await story(made)

    virtual.run(tell())
