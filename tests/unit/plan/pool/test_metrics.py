"""spec/operator.md 5.1: what each metric says, of which objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.machineconfiguration import MachineConfiguration
from mco.plan.metrics import Metric
from mco.plan.pool import metrics
from mco.plan.pool.metrics import Fleet, Syncs
from tests.factories import node, pool

ROLE = names.NODE_ROLE_PREFIX
NO_SYNCS = Syncs(passes={}, targets={}, drains={})
EMPTY = Fleet(
    pools=(), nodes=(), configs={}, controller=None, settings=None, failing=frozenset(), syncs=NO_SYNCS
)


def said(fleet: Fleet, metric: Metric) -> Mapping[tuple[str, ...], object]:
    """Without the series that every metric starts with."""
    (found,) = (family for family in metrics.families(fleet) if family.metric == metric)
    return {key: value for key, value in found.series.items() if set(key) != {metrics.INITIALIZE} or not key}


def fleet(pools: list[MachineConfigPool], nodes: list[Node], **more: Any) -> Fleet:
    return msgspec.structs.replace(EMPTY, pools=pools, nodes=nodes, **more)


def of(name: str, *roles: str) -> Node:
    return node(name, "V1", labels={f"{ROLE}{role}": "" for role in roles})


def with_conditions(subject: MachineConfigPool, *rows: tuple[str, str, str, str]) -> MachineConfigPool:
    """(type, status, second, reason)"""
    conditions = [
        {"type": t, "status": s, "lastTransitionTime": f"2026-01-01T00:00:{at}Z", "reason": r}
        for t, s, at, r in rows
    ]
    status = msgspec.convert({"conditions": conditions}, type(subject.status))
    return msgspec.structs.replace(subject, status=status)


@pytest.mark.parametrize("metric", [metrics.OVERRIDE, metrics.DRAIN_ERROR, metrics.POOL_ALERT])
def test_an_empty_fleet_has_a_series_that_says_nothing(metric: Metric) -> None:
    (found,) = (family for family in metrics.families(EMPTY) if family.metric == metric)
    assert found.series == {("initialize",): 0.0}


def test_so_have_the_sub_controllers() -> None:
    found = {family.metric: family.series for family in metrics.families(EMPTY)}
    assert found[metrics.SUB_CONTROLLER] == {("initialize",) * 3: 0.0}
    assert found[metrics.STATE] == found[metrics.MACHINES] == {}
    assert list(found) == list(metrics.METRICS)


def test_a_condition_belongs_to_its_own_pool() -> None:
    """The original takes it for that of every pool that comes after."""
    newest = with_conditions(
        pool("master"), ("Updated", "False", "50", ""), ("Degraded", "True", "59", "bad")
    )
    older = with_conditions(pool("worker"), ("Updated", "True", "10", ""), ("Updating", "False", "58", ""))
    silent = with_conditions(pool("infra"), ("Updating", "False", "57", ""))
    nodes = [of("m", "master"), of("w", "worker"), of("i", "infra")]
    syncs = msgspec.structs.replace(
        NO_SYNCS, passes={"master": 1.0, "worker": 2.0, "infra": 3.0, "gone": 4.0}
    )
    assert said(fleet([newest, older, silent], nodes, syncs=syncs), metrics.STATE) == {
        ("m", "master", "Degraded", "bad"): 1.0,
        ("w", "worker", "Updated", ""): 2.0,
    }


def test_of_one_second_the_first_condition_is_the_latest() -> None:
    subject = with_conditions(pool("worker"), ("A", "True", "10", ""), ("B", "True", "10", ""))
    syncs = msgspec.structs.replace(NO_SYNCS, passes={"worker": 1.0})
    found = said(fleet([subject], [of("w", "worker")], syncs=syncs), metrics.STATE)
    assert list(found) == [("w", "worker", "A", "")]


def test_a_master_whose_custom_pool_is_ignored_is_an_alert() -> None:
    pools = [pool("master"), pool("worker"), pool("infra"), pool("other")]
    nodes = [
        of("both", "master", "infra"),
        of("custom", "worker", "infra"),
        of("plain", "master", "worker"),
        of("none"),
        of("torn", "infra", "other"),
    ]
    assert said(fleet(pools, nodes), metrics.POOL_ALERT) == {
        ("both",): 1.0,
        ("custom",): 0.0,
        ("plain",): 0.0,
    }


def test_what_is_gone_has_no_series() -> None:
    syncs = Syncs(
        passes={"worker": 1.0, "gone": 1.0},
        targets={"gone": 2.0, "worker": 2.0},
        drains={"w": ("drain", 3.0), "x": ("uncordon", 3.0)},
    )
    subject = fleet([pool("worker")], [of("w", "worker")], syncs=syncs, failing=frozenset({"w", "x"}))
    assert said(subject, metrics.DRAIN_ERROR) == {("w",): 1.0}
    assert said(subject, metrics.SUB_CONTROLLER) == {
        ("machine-config-controller-node", "Sync Machine Config Pool", "worker"): 1.0,
        ("machine-config-controller-render", "Sync Machine Config Pool with new MC", "worker"): 2.0,
        ("machine-config-controller-drain", "drain", "w"): 3.0,
    }


def test_an_overridden_image_is_told_by_the_rendered_config() -> None:
    def config(name: str, **annotations: str) -> MachineConfig:
        body = {"metadata": {"name": name, "annotations": annotations}}
        return msgspec.convert(body, MachineConfig)

    pools = [pool("master", "M"), pool("worker", "W"), pool("infra", "lost")]
    configs = {"M": config("M"), "W": config("W", **{names.OS_IMAGE_OVERRIDDEN: "true"})}
    assert said(fleet(pools, [], configs=configs), metrics.OVERRIDE) == {("master",): 0.0, ("worker",): 1.0}


@pytest.mark.parametrize(
    ("mode", "topology", "platform", "value"),
    [
        ("None", "HighlyAvailable", "AWS", 1.0),
        ("None", "SingleReplica", "AWS", 0.0),
        ("None", "HighlyAvailable", "BareMetal", 0.0),
        ("Manual", "HighlyAvailable", "AWS", 0.0),
        ("", "HighlyAvailable", "AWS", 0.0),
    ],
)
def test_skew_that_nobody_enforces(mode: str, topology: str, platform: str, value: float) -> None:
    status = {"bootImageSkewEnforcementStatus": {"mode": mode}}
    settings = msgspec.convert({"metadata": {"name": "cluster"}, "status": status}, MachineConfiguration)
    infra = {"status": {"controlPlaneTopology": topology, "platformStatus": {"type": platform}}}
    controller = msgspec.convert({"metadata": {"name": "c"}, "spec": {"infra": infra}}, ControllerConfig)
    subject = fleet([], [], settings=settings, controller=controller)
    assert said(subject, metrics.SKEW_NONE) == {(): value}


def test_the_counters_are_those_of_the_status() -> None:
    status = {"machineCount": 7, "updatedMachineCount": 3, "degradedMachineCount": 2}
    subject = fleet([pool("worker", status=status | {"unavailableMachineCount": 1})], [])
    found = {
        metric.name: said(subject, metric)["worker",]
        for metric in (metrics.MACHINES, metrics.UPDATED, metrics.DEGRADED, metrics.UNAVAILABLE)
    }
    assert found == {
        "mco_machine_count": 7.0,
        "mco_updated_machine_count": 3.0,
        "mco_degraded_machine_count": 2.0,
        "mco_unavailable_machine_count": 1.0,
    }
