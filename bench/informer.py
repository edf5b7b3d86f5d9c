"""Caching a large fleet: 10,000 Nodes of 9.7 KB listed in pages, 4,000 changes watched, MachineConfigNodes
beside.

The client runs in a process of its own and counts its own CPU time; the reference is another such process
that does nothing but `json.loads` with the same bytes, which is the least that a client of plain dicts does.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bench import Measurement
from mco.api.meta.objects import Object
from mco.api.resources import MACHINE_CONFIG_NODES, NODES, Resource
from mco.kube.client import PAGE, Client
from mco.kube.config import Cluster
from mco.kube.informer import Informer

FLEET = 10_000
EVENTS = 4_000
_CONDITIONS = 11


def measure() -> Iterator[Measurement]:
    ours, theirs = asyncio.run(_run())
    held = f"{theirs['held'] / FLEET:.0f} KB"
    what = "list 10,000 Nodes into a cache, CPU"
    yield Measurement(what, ours["list"], "s", 0.35 * theirs["list"], f"json.loads {theirs['list']:.2f} s")
    loads = theirs["event"] * 1e6
    yield Measurement(
        "a watch event, CPU", ours["event"] * 1e6, "us", 0.8 * loads, f"json.loads {loads:.0f} us"
    )
    yield Measurement("memory per Node", ours["nodes"] / FLEET, "KB", 5, f"json.loads {held}")
    yield Measurement("memory per Node with its MachineConfigNode", ours["both"] / FLEET, "KB", 8)


async def _run() -> tuple[dict[str, float], dict[str, float]]:
    server = _Server()
    async with await asyncio.start_server(server.connected, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        return await _child("informer", port), await _child("loads", port)


async def _child(mode: str, port: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.informer", mode, str(port)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed")
    figures: dict[str, float] = json.loads(out)
    return figures


class _Server:
    """Answers from prepared bytes, so that only the client's work is seen."""

    def __init__(self) -> None:
        self._nodes = _pages("NodeList", _node)
        self._reports = _pages("MachineConfigNodeList", _report)
        self._events = [
            json.dumps({"type": "MODIFIED", "object": _node(n % FLEET, FLEET + n)}).encode() + b"\n"
            for n in range(EVENTS)
        ]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                url = urlsplit(head.split(b" ")[1].decode())
                await self._answer(url.path, dict(parse_qsl(url.query)), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, path: str, params: dict[str, str], writer: asyncio.StreamWriter) -> None:
        if "watch" in params:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for line in self._events if path.endswith("/nodes") else ():
                writer.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                await writer.drain()
            return
        pages = self._nodes if path.endswith("/nodes") else self._reports
        body = pages[int(params.get("continue", "0"))]
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()


def _pages(kind: str, make: Callable[[int, int], dict[str, Any]]) -> list[bytes]:
    pages = []
    count = FLEET // PAGE
    for number in range(count):
        items = [make(n, n) for n in range(number * PAGE, (number + 1) * PAGE)]
        token = str(number + 1) if number + 1 < count else ""
        meta = {"resourceVersion": str(FLEET), "continue": token}
        pages.append(
            json.dumps({"kind": kind, "apiVersion": "v1", "metadata": meta, "items": items}).encode()
        )
    return pages


def _node(number: int, version: int) -> dict[str, Any]:
    """A Node as a kubelet writes it: images, managed fields, annotations; most of it nobody here reads."""
    name = f"worker-{number:05}"
    field: dict[str, Any] = {f"f:field{n}": {"f:value": {}, ".": {}} for n in range(19)}
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "reason": f"Kubelet{kind}",
            "message": f"kubelet is posting {kind.lower()} status",
            "lastHeartbeatTime": "2026-11-30T12:00:00Z",
            "lastTransitionTime": f"2026-11-{number % 28 + 1:02}T12:00:00Z",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    return {
        "metadata": {
            "name": name,
            "uid": f"{number:08x}-0000-4000-8000-{version:012x}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {f"topology.example/{n}": f"value-{n}" for n in range(8)}
            | {"kubernetes.io/hostname": name},
            "annotations": {
                f"machineconfiguration.openshift.io/a{n}": f"rendered-worker-{n:032x}" for n in range(10)
            },
            "managedFields": [
                {"manager": f"m{n}", "operation": "Update", "fieldsV1": {"f:metadata": field}}
                for n in range(4)
            ],
        },
        "spec": {"podCIDR": f"10.{number % 250}.0.0/24", "providerID": f"example:///{name}"},
        "status": {
            "conditions": conditions,
            "nodeInfo": {"bootID": f"{number:032x}", "machineID": f"{number:032x}", "osImage": "Debian 12"},
            "images": [
                {"names": [f"registry.example/team/image-{n}@sha256:{n:064x}"], "sizeBytes": 10**8 + n}
                for n in range(22)
            ],
        },
    }


def _report(number: int, version: int) -> dict[str, Any]:
    conditions = [
        {
            "type": f"Condition{n}",
            "status": "False",
            "reason": "NotYetOccurred",
            "message": "This is an additional condition",
            "lastTransitionTime": f"2026-11-{number % 28 + 1:02}T12:00:00Z",
        }
        for n in range(_CONDITIONS)
    ]
    config = f"rendered-worker-{number % 3:032x}"
    return {
        "metadata": {
            "name": f"worker-{number:05}",
            "uid": f"{number:08x}-0000-4000-8000-{version:012x}",
            "resourceVersion": str(version),
        },
        "spec": {"node": {"name": f"worker-{number:05}"}, "pool": {"name": "worker"}},
        "status": {"configVersion": {"current": config, "desired": config}, "conditions": conditions},
    }


async def _informer(port: int) -> dict[str, float]:
    async with Client(Cluster(server=f"http://127.0.0.1:{port}")) as client:
        await client.list(MACHINE_CONFIG_NODES)  # what a process needs once: imports, decoders, connections
        empty, began = _resident(), time.process_time()
        nodes = await _synced(client, NODES)
        listed, filled = time.process_time(), _resident()
        await _reached(nodes, str(FLEET + EVENTS - 1))
        watched = time.process_time()
        changed = _resident()
        await _synced(client, MACHINE_CONFIG_NODES)
        both = filled - empty + _resident() - changed
        for task in _TASKS:
            task.cancel()
        return {
            "list": listed - began,
            "event": (watched - listed) / EVENTS,
            "nodes": filled - empty,
            "both": both,
        }


async def _reached(informer: Informer[Object], version: str) -> None:
    reached = asyncio.Event()

    def look(_: Object | None, new: Object | None) -> None:
        if new is not None and new.metadata.resource_version == version:
            reached.set()

    informer.add_handler(look)
    await reached.wait()


_TASKS: set[asyncio.Task[None]] = set()


async def _synced(client: Client, res: Resource[Any]) -> Informer[Object]:
    informer = Informer(client, res)
    task = asyncio.create_task(informer.run())
    _TASKS.add(task)
    await informer.synced()
    return informer


def _loads(port: int) -> dict[str, float]:
    """The same bytes, already in memory, through the standard library."""
    del port
    server = _Server()
    held, spent = [], 0.0
    empty = _resident()
    for page in server._nodes:
        began = time.process_time()
        held.append(json.loads(page))
        spent += time.process_time() - began
    filled = _resident()
    began = time.process_time()
    for line in server._events:
        json.loads(line)
    return {"list": spent, "event": (time.process_time() - began) / EVENTS, "held": filled - empty}


def _resident() -> float:
    """Kilobytes of memory in use now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


if __name__ == "__main__":
    mode, port = sys.argv[1], int(sys.argv[2])
    print(json.dumps(asyncio.run(_informer(port)) if mode == "informer" else _loads(port)))
