"""Whether a pool's nodes can follow from the config they have to the one that was rendered, and whose fault
it is when not (spec/render.md 1.6)."""

from __future__ import annotations

from collections.abc import Iterable

from mco.api.machineconfig import MachineConfig
from mco.base.errors import InvalidInput, RenderError
from mco.base.text import quote
from mco.plan.node import reconcile
from mco.plan.node.target import pair


def check(old: MachineConfig, new: MachineConfig, inputs: Iterable[MachineConfig]) -> None:
    """Raises RenderError naming the first input that by itself is refused for the same reason."""
    text = _refusal(old, new)
    if not text:
        return
    components = []
    for config in inputs:
        reason = _refusal(old, config)
        if not reason:
            continue
        components.append(reason)
        if (cause := reason.partition(": ")[2]) and cause in text:
            raise RenderError(
                f"reconciliation failed between current config {quote(old.name)} and base config "
                f"{quote(config.name)}: {cause}",
                subject=f"MachineConfig/{config.name}",
            )
    raise RenderError(f"render reconciliation error: {text}; component errors: [{' '.join(components)}]")


def _refusal(old: MachineConfig, new: MachineConfig) -> str:
    try:
        return reconcile.refusal(*pair(old, new))
    except InvalidInput as error:
        return error.message
