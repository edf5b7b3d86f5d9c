"""Rendering many MachineConfigs of 10 KB: read YAML, check, merge, name.

Each size runs in a process of its own, so that its peak memory is its own. The original needs 12 s for 1,000
and 0.3 s for 100, and the same again after one changed.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from bench import Measurement
from bench.machineconfigs import CONTROLLER_CONFIG, as_yaml, machine_config
from mco.api.machineconfig import MachineConfig
from mco.api.manifests import read
from mco.api.yaml import load_documents
from mco.render import builtin
from mco.render.pool import render
from mco.render.sources import Sources

EXPECTED = {
    100: ("4ad281159e136f58fc327949eb6cb93a", "76729af421011fb0dcb810cdc65e66eb"),
    1000: ("a4ae01a7659399adcff15752c6104623", "125d26d454ac0b336ad54068c90f2c09"),
}
"""The original's names for so many configs, and with the middle one changed."""

_POOL = builtin.pool("worker")
_CONTROLLER = read(load_documents(CONTROLLER_CONFIG.encode(), "controllerconfig.yaml")).controller_config


def measure() -> Iterator[Measurement]:
    small, medium, large = _best(100), _best(1000), _in_own_process(5000)
    yield Measurement("100 configs: parse, check, merge, name", small["all"], "s", 0.15, "original 0.3 s")
    yield Measurement("1,000 configs", medium["all"], "s", 1.2, "original 12 s")
    yield Measurement("  of it parsing the YAML", medium["parse"], "s", 0.45, "original 0.2 to 0.3 s")
    yield Measurement("  of it checking, merging and naming", medium["render"], "s", 0.75, "original 11 s")
    yield Measurement("  after one changed", medium["again"], "s", 0.5, "original 12 s")
    yield Measurement(
        "  peak memory", medium["peak"], "MiB", 200, f"{medium['base']:.0f} MiB before rendering"
    )
    growth = large["cpu"] / medium["cpu"] / 5
    total = f"{large['all']:.2f} s in all"
    yield Measurement("5,000 configs: CPU time of each against 1,000", growth, "x", 1.5, total)
    yardstick = f"{medium['json']:.3g} s: their JSON through the standard library"
    yield Measurement("1,000 configs against a yardstick", medium["all"] / medium["json"], "x", 10, yardstick)


def _best(count: int, tries: int = 3) -> dict[str, float]:
    """The run that others on the machine disturbed least."""
    return min((_in_own_process(count) for _ in range(tries)), key=lambda figures: figures["all"])


def _in_own_process(count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.render", str(count)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _run(count: int) -> dict[str, float]:
    texts = [as_yaml(machine_config(number)) for number in range(count)]
    base = _peak()
    started, cpu = time.perf_counter(), time.process_time()
    configs = [_read(text) for text in texts]
    parsed = time.perf_counter()
    sources = Sources(limit=256 * 1024 * 1024)
    name = render(_POOL, configs, _CONTROLLER, sources=sources).name
    rendered, cpu = time.perf_counter(), time.process_time() - cpu
    peak = _peak()

    changed_text = as_yaml(machine_config(count // 2, changed=True))
    again = time.perf_counter()
    configs[count // 2] = _read(changed_text)
    changed_name = render(_POOL, configs, _CONTROLLER, sources=sources).name
    done = time.perf_counter()
    _check(count, name, changed_name)
    return {
        "all": rendered - started,
        "cpu": cpu,
        "parse": parsed - started,
        "render": rendered - parsed,
        "again": done - again,
        "peak": peak,
        "base": base,
        "json": _yardstick(count),
    }


def _read(text: bytes) -> MachineConfig:
    (config,) = read(load_documents(text, "bench.yaml")).machine_configs
    return config


def _check(count: int, *names: str) -> None:
    """A fast wrong answer is worth nothing."""
    for name, expected in zip(names, EXPECTED.get(count, ()), strict=False):
        if name != f"rendered-worker-{expected}":
            raise SystemExit(f"{count} configs are called {name}, not rendered-worker-{expected}")


def _yardstick(count: int) -> float:
    objects: list[dict[str, Any]] = [machine_config(number) for number in range(count)]
    started = time.perf_counter()
    json.dumps(json.loads(json.dumps(objects)))
    return time.perf_counter() - started


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(_run(int(sys.argv[1]))))
