"""spec/render.md 1.2, step 4."""

from __future__ import annotations

import msgspec
import pytest

from mco.api.controllerconfig import ControllerConfig
from mco.base.errors import Unavailable
from mco.plan.pool import gates


def config(generation: int, observed: int, **conditions: str) -> ControllerConfig:
    rows = [{"type": f"TemplateController{name}", "status": status} for name, status in conditions.items()]
    body = {
        "metadata": {"name": "machine-config-controller", "generation": generation},
        "status": {"observedGeneration": observed, "conditions": rows},
    }
    return msgspec.convert(body, ControllerConfig)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (config(2, 2, Completed="True", Running="False", Failing="False"), None),
        (config(2, 2, Completed="True"), None),
        (
            config(2, 1, Completed="True"),
            "status for ControllerConfig machine-config-controller is being reported for 1, "
            "expecting it for 2",
        ),
        (
            config(2, 2, Completed="True", Running="True"),
            "ControllerConfig has not completed: completed(true) running(true) failing(false)",
        ),
        (config(2, 2), "ControllerConfig has not completed: completed(false) running(false) failing(false)"),
    ],
)
def test_a_controller_config_has_to_be_processed_whole(
    subject: ControllerConfig, message: str | None
) -> None:
    if message is None:
        gates.require_completed(subject)
        return
    with pytest.raises(Unavailable) as caught:
        gates.require_completed(subject)
    assert str(caught.value) == message
