"""A rollout over 1,000 nodes, `maxUnavailable` 100 %, on the embedded API server; the daemons are simulated
and finish at once.

API server, operator and controllers are processes of their own, as `mco up` starts them. All daemons live in
this one: a shared watch, and for each node the one patch that says Done. Writes are counted as the watches of
Nodes and MachineConfigNodes see them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from bench import Measurement
from mco.api import names, resources
from mco.api.core import Node
from mco.api.meta import conditions as cond
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.informer import Informer

FLEET = 1_000
_PARALLEL = 32
_ORIGINAL = "original 26 s with its rate limit lifted; as shipped 1,208 s, 125 s for 100 nodes"


def measure() -> Iterator[Measurement]:
    seen = asyncio.run(_run())
    yield Measurement("1,000 nodes Updated", seen["seconds"], "s", 10, _ORIGINAL)
    yield Measurement("  CPU of the controllers", seen["controller"], "s", 5, "original 4 s")
    yield Measurement("  writes a node by controllers", seen["node"] - 1, "", 1, "original 3")
    yield Measurement("  writes a MachineConfigNode", seen["report"], "", 1, "original 1")
    yield Measurement("  writes of the pool's status", seen["pool"], "", 10 * seen["seconds"] + 5)
    yield Measurement("  peak memory of the controllers", seen["memory"], "MiB", 92, "original 155 MiB")


class _Daemons:
    """Every node's daemon: told a new config, it is there."""

    def __init__(self, client: Client) -> None:
        self.nodes = Informer(client, resources.NODES)
        self.pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self.reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self.writes: Counter[str] = Counter()
        self._client = client
        self._obey: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._changed = asyncio.Event()
        self.nodes.add_handler(self._told)
        self.pools.add_handler(lambda *_: self._count("pool"))
        self.reports.add_handler(lambda *_: self._count("report"))

    def _count(self, what: str) -> None:
        self.writes[what] += 1
        self._changed.set()

    def _told(self, _: Node | None, node: Node | None) -> None:
        self._count("node")
        desired = node.metadata.annotation(names.DESIRED_CONFIG) if node else None
        if node is not None and desired and desired != node.metadata.annotation(names.CURRENT_CONFIG):
            self._obey.put_nowait((node.name, desired))

    async def run(self) -> None:
        workers = (self._work() for _ in range(_PARALLEL))
        await asyncio.gather(self.nodes.run(), self.pools.run(), self.reports.run(), *workers)

    async def _work(self) -> None:
        while True:
            name, config = await self._obey.get()
            marks = {names.CURRENT_CONFIG: config, names.STATE: names.STATE_DONE}
            await self._client.patch(resources.NODES, name, {"metadata": {"annotations": marks}})

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(600):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    def updated(self, other_than: str = "") -> bool:
        pool = self.pools.store.get(names.WORKER)
        if pool is None or pool.spec.configuration.name in ("", other_than):
            return False
        at_target = pool.status.configuration.name == pool.spec.configuration.name
        everybody = pool.status.machine_count == len(self.nodes.store)
        return at_target and everybody and cond.is_true(pool.status.conditions, "Updated")


async def _run() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        async with _installation(Path(folder)) as (client, controller):
            daemons = _Daemons(client)
            running = asyncio.create_task(daemons.run())
            try:
                return await _rollout(client, daemons, controller)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


async def _rollout(client: Client, daemons: _Daemons, controller: int) -> dict[str, float]:
    await client.create(resources.MACHINE_CONFIGS, _config("one"))
    await daemons.until(daemons.updated)
    first = daemons.pools.store.get(names.WORKER)
    assert first is not None
    await client.patch(resources.MACHINE_CONFIG_POOLS, names.WORKER, {"spec": {"maxUnavailable": "100%"}})
    target = first.spec.configuration.name
    await _in_parallel([_make_node(client, f"w{number:04}", target) for number in range(FLEET)])
    await daemons.until(lambda: daemons.updated() and len(daemons.reports.store) == FLEET)
    await asyncio.sleep(1.0)  # the last writes about what is new
    daemons.writes.clear()
    cpu, began = _cpu(controller), time.perf_counter()
    await client.patch(resources.MACHINE_CONFIGS, "50-bench", _config("two"))
    await daemons.until(lambda: daemons.updated(other_than=target))
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "controller": _cpu(controller) - cpu,
        "node": daemons.writes["node"] / FLEET,
        "report": daemons.writes["report"] / FLEET,
        "pool": daemons.writes["pool"],
        "memory": _peak(controller),
    }


def _config(text: str) -> dict[str, Any]:
    file = {"path": "/etc/bench", "contents": {"source": f"data:,{text}"}}
    return {
        "metadata": {"name": "50-bench", "labels": {names.ROLE_LABEL: names.WORKER}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": [file]}}},
    }


async def _make_node(client: Client, name: str, config: str) -> None:
    marks = {
        names.CURRENT_CONFIG: config,
        names.DESIRED_CONFIG: config,
        names.STATE: names.STATE_DONE,
    }
    labels = {f"{names.NODE_ROLE_PREFIX}{names.WORKER}": ""}
    metadata = {"name": name, "labels": labels, "annotations": marks}
    await client.create(resources.NODES, {"metadata": metadata})
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    await client.patch(resources.NODES, name, {"status": ready}, subresource="status")


async def _in_parallel(work: list[Any]) -> None:
    limit = asyncio.Semaphore(_PARALLEL)

    async def one(item: Any) -> None:
        async with limit:
            await item

    await asyncio.gather(*(one(item) for item in work))


@contextlib.asynccontextmanager
async def _installation(folder: Path) -> AsyncIterator[tuple[Client, int]]:
    """An administrator's client, and the process of the controllers."""
    kubeconfig = folder / "api" / "kubeconfig"
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(
            _process("apiserver", f"--data-dir={kubeconfig.parent}", "--port=0", "--log-level=error")
        )
        while not kubeconfig.exists():  # noqa: ASYNC110 - a file of another process cannot be awaited
            await asyncio.sleep(0.05)
        cluster = load(kubeconfig)
        client = await stack.enter_async_context(Client(cluster))
        await _answers(client, "/readyz")
        ca = kubeconfig.parent / "ca.crt"
        given = (f"--kubeconfig={kubeconfig}", "--log-level=error")
        await stack.enter_async_context(
            _process("operator", *given, f"--apiserver-url={cluster.server}", f"--ca={ca}")
        )
        await _answers(client, resources.MACHINE_CONFIG_POOLS.path(names.WORKER))
        controller = await stack.enter_async_context(_process("controller", *given, "--settle=0"))
        yield client, controller


@contextlib.asynccontextmanager
async def _process(*argv: str) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "mco.cli.main", *argv)
    try:
        yield process.pid
    finally:
        process.terminate()
        await process.wait()


async def _answers(client: Client, path: str) -> None:
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(MCOError):
                await client.request("GET", path)
                return
            await asyncio.sleep(0.05)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
