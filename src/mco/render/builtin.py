"""The pools that are there without anybody writing them down (spec/render.md 0)."""

from __future__ import annotations

from mco.api import names
from mco.api.machineconfigpool import MachineConfigPool, PoolSpec
from mco.api.meta.objects import LabelSelector, LabelSelectorRequirement, ObjectMeta


def pool(name: str) -> MachineConfigPool:
    """`worker`, `master` and `arbiter` select their own role; any other name selects `worker` and its own."""
    if name in names.BUILT_IN_POOLS:
        wanted = LabelSelector(match_labels={names.ROLE_LABEL: name})
    else:
        roles = LabelSelectorRequirement(key=names.ROLE_LABEL, operator="In", values=(names.WORKER, name))
        wanted = LabelSelector(match_expressions=(roles,))
    return MachineConfigPool(
        api_version=names.API_VERSION,
        kind="MachineConfigPool",
        metadata=ObjectMeta(name=name),
        spec=PoolSpec(
            machine_config_selector=wanted,
            node_selector=LabelSelector(match_labels={names.NODE_ROLE_PREFIX + name: ""}),
        ),
    )
