"""Which MachineConfigs a pool is made of, and in which order they are merged (spec/render.md 1.2, 1.8)."""

from __future__ import annotations

from collections.abc import Iterable

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import LabelSelector
from mco.api.meta.selectors import selector
from mco.base.errors import RenderError


class SelectingAll(RenderError):
    """The pool's selector is empty: the original leaves such a pool alone, with an event of this reason."""


def select(pool: MachineConfigPool, configs: Iterable[MachineConfig]) -> tuple[MachineConfig, ...]:
    """The configs whose labels the pool's selector matches, by name.

    Raises SelectingAll for an empty selector, RenderError when nothing matches, InvalidInput for a selector
    that cannot be parsed."""
    source = pool.spec.machine_config_selector
    if source is not None and source.empty:
        raise SelectingAll(
            "This machineconfigpool is selecting all machines. A non-empty selector is required.",
            subject=subject(pool),
            path="$.spec.machineConfigSelector",
            hint=f"select a role: matchLabels: {{{names.ROLE_LABEL}: {pool.name}}}",
        )
    wanted = selector(source)
    found = [config for config in configs if wanted.matches(config.metadata.labels)]
    if not found:
        raise RenderError(
            f"no MachineConfigs found matching selector {selector_text(source)}",
            subject=subject(pool),
            path="$.spec.machineConfigSelector",
            hint="label a MachineConfig so that the selector matches it, or change the selector",
        )
    return tuple(sorted(found, key=_name))


def in_merge_order(configs: Iterable[MachineConfig]) -> tuple[MachineConfig, ...]:
    """Those of role `worker` by name, then all others by name: a pool's own configs win over the worker's
    whatever they are called. Raises RenderError for a config without labels."""
    workers: list[MachineConfig] = []
    others: list[MachineConfig] = []
    for config in sorted(configs, key=_name):
        if config.metadata.labels is None:
            raise RenderError(
                f"cannot find label in MachineConfig {config.name}",
                subject=f"MachineConfig/{config.name}",
                path="$.metadata.labels",
                hint=f"set the label {names.ROLE_LABEL}",
            )
        is_worker = config.metadata.labels.get(names.ROLE_LABEL) == names.WORKER
        (workers if is_worker else others).append(config)
    return (*workers, *others)


def subject(pool: MachineConfigPool) -> str:
    return f"MachineConfigPool/{pool.name}"


def selector_text(source: LabelSelector | None) -> str:
    """A selector as the original prints it: `a=b,c in (d,e),!f`, sorted by key; nothing for none at all."""
    if source is None:
        return ""
    parts = [(key, f"{key}={value}") for key, value in (source.match_labels or {}).items()]
    for expression in source.match_expressions or ():
        values = ",".join(sorted(expression.values or ()))
        text = {
            "In": f"{expression.key} in ({values})",
            "NotIn": f"{expression.key} notin ({values})",
            "Exists": expression.key,
            "DoesNotExist": f"!{expression.key}",
        }
        parts.append((expression.key, text.get(expression.operator, expression.key)))
    return ",".join(part for _, part in sorted(parts, key=lambda part: part[0]))


def _name(config: MachineConfig) -> bytes:
    return config.name.encode()
