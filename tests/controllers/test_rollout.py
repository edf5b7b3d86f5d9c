"""Render, node and status controllers together, on the embedded API server (spec/render.md 1, node.md 3)."""

from __future__ import annotations

import asyncio

import pytest

from mco.api import names, resources
from tests.controllers.fleet import Fleet, another_operator


async def test_a_change_travels_from_machineconfig_to_updated_pool(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    for number in range(3):
        await fleet.node(f"w{number}", "worker", current=first)
    await fleet.updated(3)
    await fleet.file("50-a", "two")
    second = await fleet.rendered(other_than=first)
    await fleet.updated(3, config=second)
    assert fleet.message("Updated") == f"All nodes are updated with MachineConfig {second}"
    assert fleet.most_moving == 1
    created = await fleet.client.get(resources.MACHINE_CONFIGS, second)
    owner = created.metadata.controller()
    assert owner is not None
    assert (owner.kind, owner.name) == ("MachineConfigPool", "worker")
    assert created.metadata.labels is None


async def test_the_same_inputs_again_target_the_old_config(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    await fleet.file("50-a", "two")
    second = await fleet.rendered(other_than=first)
    await fleet.file("50-a", "one")
    assert await fleet.rendered(other_than=second) == first


async def test_max_unavailable_is_never_exceeded(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    for number in range(8):
        await fleet.node(f"w{number}", "worker", current=first)
    await fleet.updated(8)
    await fleet.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", {"spec": {"maxUnavailable": "50%"}})
    await fleet.file("50-a", "two")
    await fleet.updated(8, config=await fleet.rendered(other_than=first))
    assert 1 < fleet.most_moving <= 4


async def test_waiting_nodes_carry_the_taint_and_lose_it(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    for number in range(2):
        await fleet.node(f"w{number}", "worker", current=first)
    await fleet.updated(2)
    fleet.obedient = False
    await fleet.file("50-a", "two")

    def tainted(name: str) -> bool:
        node = fleet.nodes.store.get(name)
        return node is not None and any(t["key"] == "UpdateInProgress" for t in node.spec.taints or ())

    await fleet.until(
        lambda: {tainted("w0"), tainted("w1")} == {True, False} and len(fleet.moving) == 1,
        "one waits, one moves",
    )
    fleet.obedient = True
    (mover,) = fleet.moving
    desired = fleet.annotation(mover, names.DESIRED_CONFIG) or ""
    body = {"metadata": {"annotations": {names.CURRENT_CONFIG: desired}}}
    await fleet.client.patch(resources.NODES, mover, body)
    await fleet.updated(2, config=desired)
    await fleet.until(lambda: not tainted("w0") and not tainted("w1"), "no taints")


async def test_a_config_that_cannot_be_rendered_degrades_the_pool_until_it_is_gone(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    await fleet.config("60-bad", config={"ignition": {"version": "9.9.9"}})
    versions = "2.2,3.0,3.1,3.2,3.3,3.4,3.5"
    await fleet.until(lambda: versions in fleet.message("RenderDegraded"), "RenderDegraded")
    assert fleet.condition("RenderDegraded") == "True"
    assert fleet.message("RenderDegraded").startswith("Failed to render configuration for pool worker: ")
    await fleet.until(lambda: fleet.condition("Degraded") == "True", "Degraded")
    assert fleet.pool().spec.configuration.name == first
    await fleet.client.delete(resources.MACHINE_CONFIGS, "60-bad")
    await fleet.until(lambda: fleet.condition("Degraded") == "False", "healed")


async def test_a_config_that_no_node_could_follow_is_refused_before_any_is_told(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    await fleet.config("60-fips", fips=True)
    text = "reconciliation failed between current config"
    await fleet.until(lambda: text in fleet.message("RenderDegraded"), "RenderDegraded")
    assert fleet.condition("RenderDegraded") == "True"
    assert '"60-fips"' in fleet.message("RenderDegraded")
    assert fleet.pool().spec.configuration.name == first


async def test_a_failing_config_stops_at_one_node_and_its_removal_heals_it(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    for number in range(3):
        await fleet.node(f"w{number}", "worker", current=first)
    await fleet.updated(3)
    fleet.obedient = "cannot write /etc/50-a: No space left on device"
    await fleet.file("50-a", "two")
    await fleet.until(lambda: fleet.condition("Degraded") == "True", "degraded")
    await fleet.until(lambda: fleet.pool().status.degraded_machine_count == 1, "one degraded")
    assert len(fleet.moving) == 1
    assert "No space left on device" in fleet.message("NodeDegraded")
    fleet.obedient = True
    await fleet.file("50-a", "one")
    await fleet.updated(3, config=first)
    assert fleet.condition("Degraded") == "False"


async def test_a_paused_pool_is_rendered_but_moves_nobody(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    await fleet.node("w0", "worker", current=first)
    await fleet.updated(1)
    await fleet.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", {"spec": {"paused": True}})
    await fleet.file("50-a", "two")
    second = await fleet.rendered(other_than=first)
    text = f"Pool is paused; will not update to MachineConfig {second}"
    await fleet.until(lambda: fleet.message("Updating") == text, "paused")
    assert fleet.annotation("w0", names.DESIRED_CONFIG) == first
    await fleet.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", {"spec": {"paused": False}})
    await fleet.updated(1, config=second)


async def test_several_configs_of_one_pause_are_one_rollout(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    await fleet.node("w0", "worker", current=first)
    await fleet.updated(1)
    await fleet.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", {"spec": {"paused": True}})
    for number in range(5):
        await fleet.file(f"6{number}-more", "x")
    wanted = {"50-a", *(f"6{number}-more" for number in range(5))}
    await fleet.until(
        lambda: wanted == {s.name for s in fleet.pool().spec.configuration.source or ()}, "all rendered"
    )
    target = fleet.pool().spec.configuration.name
    await fleet.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", {"spec": {"paused": None}})
    await fleet.updated(1, config=target)


@pytest.mark.parametrize("value", ["many", "60"])
async def test_max_unavailable_that_cannot_be_read_moves_nobody(fleet: Fleet, value: str) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    await fleet.node("w0", "worker", current=first)
    await fleet.updated(1)
    await fleet.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", {"spec": {"maxUnavailable": value}})
    await fleet.file("50-a", "two")
    second = await fleet.rendered(other_than=first)
    await fleet.until(lambda: second in fleet.message("Updating"), "status names the target")
    assert fleet.annotation("w0", names.DESIRED_CONFIG) == first
    await fleet.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", {"spec": {"maxUnavailable": 1}})
    await fleet.updated(1, config=second)


async def test_a_pool_that_selects_nothing_says_so(fleet: Fleet) -> None:
    await fleet.until(lambda: fleet.condition("RenderDegraded", "master") == "True", "RenderDegraded")
    assert "no MachineConfigs found matching selector" in fleet.message("RenderDegraded", "master")


async def test_a_machine_born_in_a_custom_pool_gets_its_labels_before_anything_else(fleet: Fleet) -> None:
    """It registers as a worker at edge's config; the worker pool must not move it (spec/node.md 3.7.1)."""
    selector = {"key": names.ROLE_LABEL, "operator": "In", "values": ["worker", "edge"]}
    body = {
        "metadata": {"name": "edge"},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [selector]},
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/edge": ""}},
        },
    }
    await fleet.client.create(resources.MACHINE_CONFIG_POOLS, body)
    await fleet.file("50-a", "one")
    await fleet.file("50-b", "edge", role="edge")
    await fleet.until(lambda: len(fleet.pool("edge").spec.configuration.source or ()) == 2, "edge rendered")
    target = fleet.pool("edge").spec.configuration.name
    await fleet.node("e0", "worker", current=target, **{names.FIRST_PIVOT_CONFIG: target})
    await fleet.updated(1, "edge", config=target)
    assert fleet.annotation("e0", names.DESIRED_CONFIG) == target
    assert fleet.annotation("e0", names.CUSTOM_POOL_LABELS_APPLIED) == ""
    assert fleet.most_moving == 0


async def test_a_node_gets_its_report_and_loses_it(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    await fleet.node("w0", "worker", current=first)
    await fleet.updated(1)
    report = await fleet.client.get(resources.MACHINE_CONFIG_NODES, "w0")
    assert (report.spec.node.name, report.spec.pool.name) == ("w0", "worker")
    assert report.spec.config_version.desired == first
    await fleet.client.delete(resources.NODES, "w0")
    await fleet.updated(0)


async def test_a_node_costs_one_patch_and_its_report_another(fleet: Fleet) -> None:
    """However many nodes there are: no reads, no patch for the taint, none for what is known."""
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    for number in range(6):
        await fleet.node(f"w{number}", "worker", current=first)
    await fleet.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", {"spec": {"maxUnavailable": "100%"}})
    topology = names.CONTROL_PLANE_TOPOLOGY
    await fleet.until(
        lambda: all(fleet.annotation(f"w{n}", topology) == "External" for n in range(6)), "topology"
    )
    await fleet.updated(6)
    await fleet.reported(6)
    fleet.controllers.requests.clear()
    await fleet.file("50-a", "two")
    await fleet.updated(6, config=await fleet.rendered(other_than=first))
    requests = fleet.controllers.requests
    assert requests["PATCH", "nodes"] == 6
    assert requests["PATCH", "machineconfignodes"] == 6
    assert requests["GET", "nodes"] == requests["GET", "machineconfignodes"] == 0
    assert requests["GET", "machineconfigs"] == 1


async def test_a_changed_rendered_config_is_put_back(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    target = await fleet.rendered()
    before = await fleet.client.get(resources.MACHINE_CONFIGS, target)
    spec = {"kernelArguments": ["evil"], "config": {"passwd": {"users": [{"name": "evil"}]}}}
    await fleet.client.patch(resources.MACHINE_CONFIGS, target, {"spec": spec})
    assert (
        await fleet.config_when(target, lambda c: c.spec == before.spec)
    ).metadata.uid == before.metadata.uid


async def test_a_deleted_rendered_config_is_made_again(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    target = await fleet.rendered()
    before = await fleet.client.get(resources.MACHINE_CONFIGS, target)
    await fleet.client.delete(resources.MACHINE_CONFIGS, target)
    again = await fleet.config_when(target, lambda c: c.metadata.uid != before.metadata.uid)
    assert again.spec == before.spec


async def test_a_pool_that_is_deleted_gives_its_nodes_back(fleet: Fleet) -> None:
    selector = {"key": names.ROLE_LABEL, "operator": "In", "values": ["worker", "edge"]}
    body = {
        "metadata": {"name": "edge"},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [selector]},
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/edge": ""}},
        },
    }
    await fleet.client.create(resources.MACHINE_CONFIG_POOLS, body)
    await fleet.file("50-a", "one")
    target = await fleet.rendered("edge")
    await fleet.node("e0", "worker", "edge", current=target)
    await fleet.updated(1, "edge")
    await fleet.updated(0)
    await fleet.client.delete(resources.MACHINE_CONFIG_POOLS, "edge")
    await fleet.updated(1, config=await fleet.rendered())
    assert fleet.annotation("e0", names.CURRENT_CONFIG) == await fleet.rendered()


async def test_a_newborn_whose_labels_cannot_be_derived_is_not_moved(fleet: Fleet) -> None:
    pools = {"key": "site", "operator": "In", "values": ["a", "b"]}
    roles = {"key": names.ROLE_LABEL, "operator": "In", "values": ["worker", "edge"]}
    spec = {
        "machineConfigSelector": {"matchExpressions": [roles]},
        "nodeSelector": {"matchExpressions": [pools]},
    }
    await fleet.client.create(resources.MACHINE_CONFIG_POOLS, {"metadata": {"name": "edge"}, "spec": spec})
    await fleet.file("50-a", "one")
    born_with = await fleet.rendered("edge")
    await fleet.node("e0", "worker", current=born_with, **{names.FIRST_PIVOT_CONFIG: born_with})
    await fleet.until(lambda: fleet.pool().status.machine_count == 1, "counted")
    assert fleet.condition("Updating") == "True"
    assert fleet.annotation("e0", names.DESIRED_CONFIG) == born_with


async def test_what_the_operator_owns_comes_back(fleet: Fleet) -> None:
    """A deleted pool, and a ControllerConfig that somebody changed: rendering goes on."""
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    changed = {"spec": {"clusterDNSIP": "10.0.0.1"}}
    await fleet.client.patch(resources.CONTROLLER_CONFIGS, names.CONTROLLER_CONFIG, changed)
    await fleet.file("50-a", "two")
    await fleet.rendered(other_than=first)
    uid = fleet.pool("master").metadata.uid
    await fleet.client.delete(resources.MACHINE_CONFIG_POOLS, "master")
    await fleet.until(lambda: fleet.pool("master").metadata.uid not in ("", uid), "master again")


async def test_a_restarted_operator_keeps_the_reports(fleet: Fleet) -> None:
    await fleet.file("50-a", "one")
    first = await fleet.rendered()
    for number in range(3):
        await fleet.node(f"w{number}", "worker", current=first)
    await fleet.reported(3)
    before = {r.name: r.metadata.uid for r in fleet.reports.store.values()}
    seen: list[str] = []
    fleet.reports.add_handler(lambda _, new: seen.append("gone") if new is None else None)
    async with asyncio.timeout(20), another_operator(fleet):
        await fleet.client.delete(resources.NODES, "w2")
        await fleet.until(lambda: "w2" not in fleet.reports.store, "the report of the deleted node is gone")
    assert seen == ["gone"]
    assert {r.name: r.metadata.uid for r in fleet.reports.store.values()} == {
        n: before[n] for n in ("w0", "w1")
    }
