"""A rollout over simulated nodes, `maxUnavailable` 100 %, no settle time: on the embedded API server, and on
a real kube-apiserver where there is one (`make servers`).

API server, operator, controllers and the fleet are processes of their own. The nodes are those of
`mco simulate`: each follows itself by name. On the comparable workload they finish at once, with one write;
with the whole protocol they are drained, reboot and report their conditions. Writes are counted as the
watches of Nodes and MachineConfigNodes see them; who made one shows in what it changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from bench import Measurement
from bench.installation import Installation, installed
from bench.observer import Observer, Seen
from mco.api import names, resources
from mco.base.errors import MCOError

_LIFTED = "original 26 s with its rate limit lifted; as shipped 1,208 s"
_LIFTED_5000 = "original 108 s with its rate limit lifted"


def measure() -> Iterator[Measurement]:
    for real in (False, True):
        try:
            yield from _brief(real, 1_000, 15 if real else 10, 0.6 * 154, _LIFTED)
            yield from _brief(real, 5_000, 60, 0.6 * 255, _LIFTED_5000)
        except MCOError as error:
            print(f"  real kube-apiserver: not measured: {error}")
            return
    yield from _whole(200)


def _brief(real: bool, nodes: int, seconds: float, memory: float, reference: str) -> Iterator[Measurement]:
    seen = asyncio.run(rollout(nodes, real=real, fleet=("--brief",)))
    where = "real kube-apiserver" if real else "embedded"
    yield Measurement(f"{nodes:,} nodes Updated, {where}", seen.seconds, "s", seconds, reference)
    yield Measurement("  CPU of the controllers", seen.cpu, "s", 0.005 * nodes, "original 4 s, 24 s")
    yield Measurement("  writes a node by controllers", seen.controllers / nodes, "", 2, "original 4")
    yield Measurement("  passes over the pool a second", seen.passes / seen.seconds, "", 10)
    yield Measurement("  memory of the controllers (PSS)", seen.memory, "MiB", memory, "original 155, 255")


def _whole(nodes: int) -> Iterator[Measurement]:
    seen = asyncio.run(rollout(nodes, real=False, fleet=("--reboot=0.5-1",)))
    yield Measurement(f"{nodes:,} nodes, drain, reboot, conditions", seen.seconds, "s", 60)
    yield Measurement("  writes a node by controllers", seen.controllers / nodes, "", 5)
    yield Measurement("  writes a node by the daemon", seen.daemons / nodes, "", 8)


async def rollout(nodes: int, *, real: bool, fleet: tuple[str, ...]) -> Seen:
    """One rollout. Raises MCOError without a real server."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        installation = await stack.enter_async_context(installed(folder, real=real))
        observer = await stack.enter_async_context(_observed(installation))
        await installation.client.create(resources.MACHINE_CONFIGS, _config("one"))
        await observer.updated(0)
        spec = {"spec": {"maxUnavailable": "100%"}}
        await installation.client.patch(resources.MACHINE_CONFIG_POOLS, names.WORKER, spec)
        await stack.enter_async_context(installation.fleet(f"--nodes={nodes}", *fleet))
        await observer.updated(nodes)
        await observer.quiet()
        observer.begin(installation.controller)
        await installation.client.patch(resources.MACHINE_CONFIGS, "50-bench", _config("two"))
        await observer.updated(nodes, again=True)
        return observer.end(installation.controller)


@contextlib.asynccontextmanager
async def _observed(installation: Installation) -> AsyncIterator[Observer]:
    observer = Observer(installation.client)
    running = asyncio.create_task(observer.run())
    try:
        yield observer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _config(text: str) -> dict[str, object]:
    file = {"path": "/etc/bench", "contents": {"source": f"data:,{text}"}}
    return {
        "metadata": {"name": "50-bench", "labels": {names.ROLE_LABEL: names.WORKER}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": [file]}}},
    }
