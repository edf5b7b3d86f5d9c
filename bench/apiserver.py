"""The embedded API server beside a real kube-apiserver with etcd, in one run: same clients, same disk.

Both write durably: etcd with its fsync, SQLite with its own. Requests go over HTTP/1.1 with TLS and a client
certificate. The budget of each line is a share of what the real one took in the same run; without a real
server (`make servers`) nothing is compared.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench import Measurement
from bench.apiservers import Embedded, Real, Subject
from tests.servers.assets import located

NODES = 5_000
SECONDS = 5
CLIENTS = (1, 16)
WATCHERS = (100, 5_000)
LISTS, ROUNDS = 5, 7
FAN_OUT = 2.0
"""One thread of Python serves one connection after the other; the real server uses all cores."""


class Line(msgspec.Struct, frozen=True):
    """What is measured; `share` of the real server's figure is the budget (at least that much of a rate)."""

    key: str
    what: str
    unit: str
    share: float
    at_least: bool = False


def _lines() -> Iterator[Line]:
    yield Line("start", "start until ready, nothing stored", "s", 0.5)
    yield Line("create", f"{NODES:,} Nodes created by 16 clients", "/s", 1, at_least=True)
    for clients in CLIENTS:
        who = "1 client" if clients == 1 else f"{clients} clients"
        yield Line(f"write{clients}.rate", f"durable patches of a Node, {who}", "/s", 1, at_least=True)
        yield Line(f"write{clients}.p50", "  latency, median", "ms", 1)
        yield Line(f"write{clients}.p99", "  latency, 99 of 100", "ms", 1)
    yield Line("list", f"list of {NODES:,} Nodes", "ms", 1)
    for watchers in WATCHERS:
        yield Line(
            f"watch{watchers}.last", f"a change to {watchers:,} watchers: the last has it", "s", FAN_OUT
        )
        yield Line(f"watch{watchers}.cpu", "  CPU", "s", FAN_OUT)
    yield Line("memory", f"memory (PSS) with {NODES:,} Nodes", "MiB", 0.5)
    yield Line("restart", f"start until ready, {NODES:,} Nodes stored", "s", 0.5)


def measure() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory(prefix="mco-bench-") as name:
        folder, assets = Path(name), located()
        ours = _figures(Embedded(folder / "embedded"))
        theirs = _figures(Real(assets, folder / "real")) if assets else {}
    for line in _lines():
        value, real = ours[line.key], theirs.get(line.key)
        if real is None:
            budget, reference = (0.0 if line.at_least else math.inf), "no real server: make servers"
        else:
            budget, reference = line.share * real, f"real {real:.3g}, ratio {value / real:.2f}"
        yield Measurement(line.what, value, line.unit, budget, reference, line.at_least)


def _figures(subject: Subject) -> dict[str, float]:
    found: dict[str, float] = {}
    try:
        found["start"] = subject.start()
        load = Load(subject)
        found["create"] = load("create", NODES)["rate"]
        for clients in CLIENTS:
            for key, value in load("write", clients, SECONDS).items():
                found[f"write{clients}.{key}"] = value
        found["list"] = load("list", LISTS)["p50"]
        found["memory"] = subject.memory()
        for watchers in WATCHERS:
            for key, value in load("watch", watchers, ROUNDS, *subject.pids).items():
                found[f"watch{watchers}.{key}"] = value
        subject.stop()
        found["restart"] = subject.start()
    finally:
        subject.stop()
    return found


class Load:
    """Clients in a process of their own."""

    def __init__(self, subject: Subject) -> None:
        self._arguments = (subject.address, str(subject.write_keys()))

    def __call__(self, mode: str, *numbers: int) -> dict[str, float]:
        command = [sys.executable, "-m", "bench.apiclients", *self._arguments, mode, *map(str, numbers)]
        out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        found: dict[str, float] = json.loads(out)
        return found
