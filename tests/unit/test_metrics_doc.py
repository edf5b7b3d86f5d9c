"""`docs/metrics.md` lists what is exported, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from mco.configserver import metrics as server
from mco.plan.node import metrics as daemon
from mco.plan.pool import metrics as controllers

TEXT = (Path(__file__).parents[2] / "docs/metrics.md").read_text()
_ROW = re.compile(r"^\| `([a-z_]+)` \| (gauge|counter|histogram) \| ([^|]*)\| ", re.MULTILINE)
_COMPONENTS = {"Controllers": controllers.METRICS, "Daemon": daemon.METRICS, "Config server": server.METRICS}


def test_every_metric_is_described_where_it_belongs() -> None:
    sections = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")}
    for name, metrics in _COMPONENTS.items():
        rows = [
            (n, kind, tuple(re.findall(r"`(\w+)`", labels)))
            for n, kind, labels in _ROW.findall(sections[name])
        ]
        assert rows == [(metric.name, metric.kind.value, metric.labels) for metric in metrics]
    assert len(_ROW.findall(TEXT)) == sum(map(len, _COMPONENTS.values()))
