"""What has to be finished before a pool is rendered (spec/render.md 1.2)."""

from __future__ import annotations

from mco.api import controllerconfig as cc
from mco.api.controllerconfig import ControllerConfig
from mco.api.meta import conditions as cond
from mco.base.errors import Unavailable


def require_completed(config: ControllerConfig) -> None:
    """Raises Unavailable, with the original's text, until the ControllerConfig was processed whole."""
    generation, observed = config.metadata.generation, config.status.observed_generation
    if generation != observed:
        raise Unavailable(
            f"status for ControllerConfig {config.name} is being reported for {observed}, "
            f"expecting it for {generation}"
        )
    completed, running, failing = (
        cond.is_true(config.status.conditions, type_)
        for type_ in (
            cc.TEMPLATE_CONTROLLER_COMPLETED,
            cc.TEMPLATE_CONTROLLER_RUNNING,
            cc.TEMPLATE_CONTROLLER_FAILING,
        )
    )
    if not completed or running or failing:
        states = {"completed": completed, "running": running, "failing": failing}
        text = " ".join(f"{name}({str(state).lower()})" for name, state in states.items())
        raise Unavailable(f"ControllerConfig has not completed: {text}")
