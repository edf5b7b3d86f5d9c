"""First boots: the config server as a process with a 500 KB rendered config, over TLS.

The embedded API server has the pool and its config; the load comes from `bench.configclients`, in a process
of its own on the same machine. The first figure after each line is the original's on two cores.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import Measurement
from mco.api import names
from mco.api.crds import definitions
from mco.api.resources import (
    CONTROLLER_CONFIGS,
    CUSTOM_RESOURCE_DEFINITIONS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    NAMESPACES,
)
from mco.apiserver.server import Settings, running
from mco.base.errors import NotFound
from mco.kube.client import Client
from mco.kube.config import load
from mco.operator import objects
from mco.pki import authority

SIZE = 500_000
"""Bytes of the rendered config's Ignition part."""
CONFIG = "rendered-worker-benchserve"
CONNECTIONS, SECONDS = 32, 10.0
CLIENTS, SLOW_SECONDS = 2000, 15.0
_TICKS = os.sysconf("SC_CLK_TCK")
_FILE = 3000


def measure() -> Iterator[Measurement]:
    found = asyncio.run(_run())
    yield Measurement(
        "32 kept-alive TLS connections", found["rate"], "requests/s", 800, "original 14", at_least=True
    )
    yield Measurement("CPU of a request", found["cpu"], "ms", 1.5, f"original 95; {found['size']} bytes each")
    yield Measurement(
        "2,000 clients at 8 KB/s: last first byte", found["first"], "s", 2, "original 96 % > 15 s"
    )
    yield Measurement("2,000 clients at 8 KB/s: clients without one", found["silent"], "", 0)
    yield Measurement("peak memory", found["peak"], "MiB", 300, "original 2,458")
    yield Measurement("memory kept 5 s after they left", found["kept"], "MiB", 30, "original 2,048")


async def _run() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="mco-bench-") as name:
        async with _config_server(Path(name)) as (pid, port):
            url = f"https://127.0.0.1:{port}/config/worker"
            idle = _memory(pid, "VmRSS")
            await _clients("load", url, CONNECTIONS, 2.0)
            before = _cpu(pid)
            load = await _clients("load", url, CONNECTIONS, SECONDS)
            spent = _cpu(pid) - before
            slow = await _clients("slow", url, CLIENTS, SLOW_SECONDS)
            peak = _memory(pid, "VmHWM")
            await asyncio.sleep(5)
            kept = _memory(pid, "VmRSS") - idle
    return {
        "rate": load["requests"] / load["seconds"],
        "cpu": spent / load["requests"] * 1000,
        "size": load["length"],
        "first": max(slow["first"]),
        "silent": slow["silent"],
        "peak": peak,
        "kept": kept,
    }


@asynccontextmanager
async def _config_server(folder: Path) -> AsyncIterator[tuple[int, int]]:
    """Process id and port of one that serves the pool."""
    async with running(Settings(data_dir=folder / "api")) as api:
        async with Client(load(api.kubeconfig)) as client:
            await _install(client)
        now = datetime.now(UTC)
        pair = authority.create("bench", now).server("bench", ["127.0.0.1"], now)
        (folder / "tls.crt").write_bytes(pair.certificate)
        (folder / "tls.key").write_bytes(pair.key)
        (folder / "token").write_text("abc123.0123456789abcdef")
        port = _free_port()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "mco.cli.main", "configserver", "start"),
            *(f"--kubeconfig={api.kubeconfig}", f"--apiserver-url={api.url}", "--bind=127.0.0.1"),
            *(f"--cert={folder / 'tls.crt'}", f"--key={folder / 'tls.key'}", f"--secure-port={port}"),
            f"--bootstrap-token-dir={folder}",
            stderr=(folder / "log").open("wb"),
        )
        try:
            await _until_listening(port, process)
            yield process.pid, port
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _install(client: Client) -> None:
    for definition in definitions():
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await client.create(NAMESPACES, {"metadata": {"name": names.NAMESPACE}})
    await _create(client, MACHINE_CONFIGS, rendered_config(SIZE))
    for pool in objects.pools():
        await _create(client, MACHINE_CONFIG_POOLS, pool)
    served = {"configuration": {"name": CONFIG}}
    await client.patch(MACHINE_CONFIG_POOLS, names.WORKER, {"spec": served})
    await client.patch(MACHINE_CONFIG_POOLS, names.WORKER, {"status": served}, subresource="status")
    installation = objects.Installation(server="https://api.example.org", ca=b"x", version="0")
    await _create(client, CONTROLLER_CONFIGS, objects.controller_config(installation))


async def _create(client: Client, resource: Any, body: dict[str, Any]) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                await client.create(resource, body)
                return
            except NotFound:
                await asyncio.sleep(0.05)


def rendered_config(size: int) -> dict[str, Any]:
    """A rendered MachineConfig of about `size` bytes: files of 3,000 bytes as base64, and a unit for each ten
    of them. Contents come from a stream of SHA-256 digests and are the same everywhere."""
    files: list[dict[str, Any]] = []
    units: list[dict[str, Any]] = []
    total = 0
    while total < size:
        number = len(files)
        data = base64.b64encode(_stream(f"1/serve{number}", _FILE)).decode()
        source = f"data:text/plain;charset=utf-8;base64,{data}"
        path = f"/etc/bench/serve-{number:03d}"
        files.append({"contents": {"source": source}, "mode": 420, "overwrite": True, "path": path})
        total += _encoded(files[-1])
        if number % 10 == 0:
            units.append({"contents": _unit(number), "enabled": True, "name": f"bench-{number:03d}.service"})
            total += _encoded(units[-1])
    config = {"ignition": {"version": "3.5.0"}, "storage": {"files": files}, "systemd": {"units": units}}
    spec = {
        "config": config,
        "osImageURL": "registry.example.org/os@sha256:" + "1" * 64,
        "baseOSExtensionsContainerImage": "",
        "kernelType": "default",
        "fips": False,
        "extensions": [],
        "kernelArguments": ["bench.arg=1"],
    }
    return {"metadata": {"name": CONFIG, "labels": {names.ROLE_LABEL: "worker"}}, "spec": spec}


def _stream(name: str, length: int) -> bytes:
    blocks = (hashlib.sha256(f"{name}/{i}".encode()).digest() for i in range(length // 32 + 1))
    return b"".join(blocks)[:length]


def _unit(number: int) -> str:
    service = "[Service]\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    return f"[Unit]\nDescription=bench {number}\n{service}"


def _encoded(value: dict[str, Any]) -> int:
    return len(json.dumps(value, separators=(",", ":"))) + 1


async def _clients(mode: str, url: str, count: int, seconds: float) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.configclients", mode, url, str(count), str(seconds)),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the {mode} clients failed")
    found: dict[str, Any] = json.loads(out)
    return found


async def _until_listening(port: int, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(20):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.transport.abort()
                return
    raise RuntimeError("the config server ended")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def _memory(pid: int, field: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
