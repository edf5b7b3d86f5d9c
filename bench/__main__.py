"""Runs benchmarks and prints measured value, budget and reference side by side.

Exit codes: 0 all budgets kept, 1 one was missed, 2 no such benchmark.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module

import bench
from bench import Measurement


def _benchmarks() -> dict[str, Callable[[], Iterator[Measurement]]]:
    found = {}
    for module in pkgutil.iter_modules(bench.__path__):
        if module.name != "__main__":
            measure = getattr(import_module(f"bench.{module.name}"), "measure", None)
            if measure is not None:
                found[module.name] = measure
    return found


def main(names: list[str]) -> int:
    benchmarks = _benchmarks()
    if unknown := [name for name in names if name not in benchmarks]:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(benchmarks)}", file=sys.stderr)
        return 2
    kept = True
    for name in names or list(benchmarks):
        print(name)
        for line in benchmarks[name]():
            kept = kept and line.kept
            limit = f"{'at least' if line.at_least else 'at most'} {line.budget:g} {line.unit}"
            verdict = "" if line.kept else "  MISSED"
            value = f"{line.value:.3g} {line.unit}"
            print(f"  {line.what:<52} {value:>12}   {limit:<18} {line.reference}{verdict}", flush=True)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
