"""Nodes that were born with a custom pool's config get that pool's labels (spec/node.md 3.7, 3.7.1).

A machine of pool `edge` boots with edge's config but registers as a plain worker; without the labels the
worker pool would move it back at once. So this is asked before any capacity is counted (design.md 10,
identity).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mco.api import names
from mco.api.machineconfigpool import MachineConfigPool
from mco.plan.pool.nodes import Member, standing


def custom_pool(member: Member, owner: Callable[[str], str | None]) -> str | None:
    """The custom pool whose config the node was born with, if its labels were never applied.

    `owner` tells for the name of a MachineConfig which pool its first owner reference names."""
    born_with = standing(member).born_with
    pool = owner(born_with) if born_with else None
    return None if pool in (None, names.MASTER, names.WORKER) else pool


def labels(pool: MachineConfigPool) -> Mapping[str, str]:
    """The labels that make the pool's node selector match, as far as they can be derived: `matchLabels`, an
    `In` of exactly one value, an `Exists` as the empty value; everything else is ignored."""
    selector = pool.spec.node_selector
    if selector is None:
        return {}
    derived: dict[str, str] = {}
    for expression in selector.match_expressions or ():
        values = expression.values or ()
        if expression.operator == "In" and len(values) == 1:
            derived[expression.key] = values[0]
        elif expression.operator == "Exists":
            derived[expression.key] = ""
    return derived | (selector.match_labels or {})
