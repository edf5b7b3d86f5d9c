"""What Prometheus is told by running controllers (spec/operator.md 5.1)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mco.api import names, resources
from tests.controllers.fleet import PATIENCE, Fleet
from tests.scrape import ask, exposed, families, series

NODE, RENDER, DRAIN = (f"machine-config-controller-{name}" for name in ("node", "render", "drain"))

# spec/operator.md 5.1
TABLE = {
    "os_image_url_override": {"pool"},
    "mcc_boot_image_skew_enforcement_none": set(),
    "mcc_drain_err": {"node"},
    "mcc_pool_alert": {"node"},
    "mcc_sub_controller_state": {"subcontroller", "state", "object"},
    "mco_state": {"node", "pool", "state", "reason"},
    "mco_machine_count": {"pool"},
    "mco_updated_machine_count": {"pool"},
    "mco_degraded_machine_count": {"pool"},
    "mco_unavailable_machine_count": {"pool"},
}


async def test_a_rollout_as_prometheus_sees_it(fleet: Fleet) -> None:
    began = time.time()
    async with exposed(fleet.metrics.families) as url:
        await fleet.config("50-base")
        await fleet.config("50-base-master", "master")
        before = await fleet.rendered()
        await fleet.node("w0", "worker", current=before)
        await fleet.node("m0", "master", current=await fleet.rendered("master"))
        await fleet.updated(1)
        await fleet.updated(1, "master")
        await fleet.file("motd", "hello")
        await fleet.updated(1, config=await fleet.rendered(other_than=before))

        request = {"metadata": {"annotations": {names.DESIRED_DRAIN: "uncordon-x"}}}
        await fleet.client.patch(resources.NODES, "w0", request)
        text = await told(url, lambda text: DRAIN in text)
        found = families(text)
        assert {name: metric.type for name, metric in found.items()} == dict.fromkeys(TABLE, "gauge")
        for name, metric in found.items():
            assert {frozenset(sample.labels) for sample in metric.samples} == {frozenset(TABLE[name])}
            assert metric.documentation
        values = series(text)
        for pool in ("worker", "master"):
            assert values["mco_machine_count", pool] == values["mco_updated_machine_count", pool] == 1
            assert values["mco_degraded_machine_count", pool] == 0
            assert values["mco_unavailable_machine_count", pool] == 0
            assert values["os_image_url_override", pool] == 0
        assert values["mcc_pool_alert", "w0"] == values["mcc_pool_alert", "m0"] == 0
        assert values["mcc_boot_image_skew_enforcement_none",] == 0
        for key in (
            ("mcc_sub_controller_state", "worker", "Sync Machine Config Pool", NODE),
            ("mcc_sub_controller_state", "worker", "Sync Machine Config Pool with new MC", RENDER),
            ("mco_state", "w0", "worker", "", "Updated"),
            ("mco_state", "m0", "master", "", "Updated"),
        ):
            assert began <= values[key] <= time.time(), key
        assert {key[1:3] for key in values if key[-1] == DRAIN} == {("w0", "uncordon")}


async def told(url: str, enough: Callable[[str], bool]) -> str:
    """The page, once it says enough: the controllers see things in their own time."""
    async with asyncio.timeout(PATIENCE):
        while not enough(text := (await ask(url)).body):
            pass
    return text
