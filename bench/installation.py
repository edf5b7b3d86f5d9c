"""API server, operator and controllers as processes, embedded or beside a real kube-apiserver."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from mco.api import names, resources
from mco.base.errors import MCOError, Unsupported
from mco.fleet.commands import ALONE
from mco.kube.client import Client
from mco.kube.config import load
from tests.servers.assets import located
from tests.servers.real import real_server


class Installation:
    """`client` is an administrator's, `controller` the process of the controllers."""

    def __init__(self, client: Client, kubeconfig: Path, controller: int) -> None:
        self.client = client
        self.controller = controller
        self._kubeconfig = kubeconfig

    @contextlib.asynccontextmanager
    async def fleet(self, *argv: str) -> AsyncIterator[None]:
        given = ("simulate", f"--kubeconfig={self._kubeconfig}", "--log-level=error")
        async with _process(*given, *argv):
            yield


@contextlib.asynccontextmanager
async def installed(folder: Path, *, real: bool) -> AsyncIterator[Installation]:
    """Raises Unsupported when a real server is asked for and there is none."""
    async with contextlib.AsyncExitStack() as stack:
        api = _real(folder) if real else _embedded(folder / "api")
        kubeconfig, ca = await stack.enter_async_context(api)
        cluster = load(kubeconfig)
        client = await stack.enter_async_context(Client(cluster))
        given = (f"--kubeconfig={kubeconfig}", "--log-level=error", ALONE)
        operator = ("operator", *given, f"--apiserver-url={cluster.server}", f"--ca={ca}")
        await stack.enter_async_context(_process(*operator))
        await _answers(client, resources.MACHINE_CONFIG_POOLS.path(names.WORKER))
        controller = await stack.enter_async_context(_process("controller", *given, "--settle=0"))
        yield Installation(client, kubeconfig, controller)


@contextlib.asynccontextmanager
async def _embedded(folder: Path) -> AsyncIterator[tuple[Path, Path]]:
    kubeconfig = folder / "kubeconfig"
    async with _process("apiserver", f"--data-dir={folder}", "--port=0", "--log-level=error"):
        while not kubeconfig.exists():  # noqa: ASYNC110 - a file of another process cannot be awaited
            await asyncio.sleep(0.05)
        async with Client(load(kubeconfig)) as client:
            await _answers(client, "/readyz")
        yield kubeconfig, folder / "ca.crt"


@contextlib.asynccontextmanager
async def _real(folder: Path) -> AsyncIterator[tuple[Path, Path]]:
    assets = located()
    if assets is None:
        raise Unsupported("there is no real kube-apiserver", hint="make servers")
    with real_server(assets, folder / "real") as server:
        yield server.kubeconfig, server.folder / "ca.crt"


@contextlib.asynccontextmanager
async def _process(*argv: str) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "mco.cli.main", *argv)
    try:
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _answers(client: Client, path: str) -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(MCOError):
                await client.request("GET", path)
                return
            await asyncio.sleep(0.05)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """MiB, what is shared with other processes counted in proportion (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
