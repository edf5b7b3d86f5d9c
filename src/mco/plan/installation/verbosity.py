"""How much the components log, as klog counts (spec/operator.md 1.1)."""

from __future__ import annotations

from mco.api.machineconfiguration import MachineConfiguration

NORMAL = 2
_MORE = {"Debug": 4, "Trace": 6, "TraceAll": 8}


def verbosity(settings: MachineConfiguration | None) -> int:
    return _MORE.get(settings.spec.operator_log_level, NORMAL) if settings else NORMAL
