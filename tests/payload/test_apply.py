"""A payload applied to an API server: in order, behind gates, without a write that changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mco.base.errors import InvalidInput
from mco.kube.client import Client
from mco.kube.errors import ServerError, Status, Unreachable
from mco.kube.requests import PatchKind
from mco.kube.wholes import Wholes
from mco.payload.apply import GateClosed, Outcome, Pace, PayloadError, apply
from mco.payload.graph import Mode
from mco.payload.manifest import CREATE_ONLY, DELETE, Manifest
from mco.runtime.clock import SystemClock
from tests.payload.applying import PACE, Payload

OPERATORS = "clusteroperators"


@pytest.fixture
def payload(client: Client) -> Payload:
    return Payload(client)


async def test_everything_once_and_then_nothing(payload: Payload) -> None:
    payload.config_map("0000_80_a_00", {"x": "1"})
    _, thing = payload.definition("0000_80_a_01")
    payload.add("0000_80_a_02", thing | {"spec": {"y": 2}})
    payload.config_map("0000_90_a_00")
    first = await payload.apply()
    assert first == [f"{m.file} created" for m in payload.manifests]
    assert payload.steps[-1].done == payload.steps[-1].total == 4
    written = list(payload.objects.writes)
    for mode in Mode:
        assert {o.split()[1] for o in await payload.apply(mode)} == {"unchanged"}
    assert payload.objects.writes == written


async def test_an_object_before_its_definition_is_tried_again_while_levels_are_dropped(
    payload: Payload,
) -> None:
    _, thing = payload.definition("0000_80_b_01")
    payload.add("0000_80_a_02", thing)
    payload.manifests.reverse()
    assert sorted(await payload.apply(Mode.INITIALIZING, Pace(attempts=20, first_wait=0.05))) == [
        "0000_80_a_02 created",
        "0000_80_b_01 created",
    ]


async def test_a_kind_that_nobody_serves(payload: Payload) -> None:
    body = {"apiVersion": "nowhere.test/v1", "kind": "Nothing", "metadata": {"name": "n"}}
    payload.add("0000_80_a_01", body)
    with pytest.raises(
        PayloadError, match=r'no matches for kind "Nothing" in version "nowhere\.test/v1"'
    ) as caught:
        await payload.apply()
    assert caught.value.errors[0][0].file == "0000_80_a_01"


async def test_what_somebody_changed_is_mended_and_what_is_theirs_stays(payload: Payload) -> None:
    manifest = payload.config_map("0000_80_a_00", {"x": "1"})
    await payload.apply()
    await payload.objects.patch(manifest.body, {"data": {"x": "2", "theirs": "3"}})
    assert await payload.apply(Mode.RECONCILING) == ["0000_80_a_00 configured"]
    found = await payload.objects.get(manifest.body)
    assert found is not None and found["data"] == {"x": "1", "theirs": "3"}


async def test_create_only_is_never_updated(payload: Payload) -> None:
    manifest = payload.config_map("0000_80_a_00", {"x": "1"})
    manifest.body["metadata"]["annotations"][CREATE_ONLY] = "true"
    assert await payload.apply() == ["0000_80_a_00 created"]
    await payload.objects.patch(manifest.body, {"data": {"x": "2"}})
    assert await payload.apply() == ["0000_80_a_00 unchanged"]


async def test_deletions_happen_while_updating_only(payload: Payload) -> None:
    manifest = payload.config_map("0000_90_a_00")
    await payload.objects.create(manifest.body)
    manifest.body["metadata"]["annotations"][DELETE] = "true"
    for mode in (Mode.INITIALIZING, Mode.RECONCILING):
        assert await payload.apply(mode) == ["0000_90_a_00 unchanged"]
        assert await payload.has(manifest)
    assert await payload.apply() == ["0000_90_a_00 deleted"]
    assert not await payload.has(manifest)
    assert await payload.apply() == ["0000_90_a_00 unchanged"]


async def test_a_failure_stops_what_comes_after_it_and_nothing_else(payload: Payload) -> None:
    broken = payload.config_map("0000_80_a_00")
    broken.body["data"]["x"] = 5
    same_component = payload.config_map("0000_80_a_01")
    beside = payload.config_map("0000_80_b_00")
    later = payload.config_map("0000_90_a_00")
    with pytest.raises(PayloadError) as caught:
        await payload.apply()
    assert [manifest for manifest, _ in caught.value.errors] == [broken]
    assert "1 incomplete task nodes, beginning with configmap" in str(caught.value)
    assert [await payload.has(m) for m in (same_component, beside, later)] == [False, True, False]


async def test_a_server_that_fails_for_a_moment_costs_an_attempt_and_applies_nothing_twice(
    payload: Payload,
) -> None:
    manifest = payload.config_map("0000_80_a_00")
    refusal = ServerError(Status(message="try again", code=500))
    payload.objects.failures[manifest.identity.name] = [refusal, Unreachable("reset")]
    assert await payload.apply() == ["0000_80_a_00 created"]
    assert payload.objects.writes == [f"create {manifest.identity.name}"]
    assert [s.outcome for s in payload.steps] == [Outcome.WAITING, Outcome.WAITING, Outcome.CREATED]


async def test_of_two_that_apply_at_once_the_second_looks_again(payload: Payload) -> None:
    manifest = payload.config_map("0000_80_a_00", {"x": "1"})
    await payload.apply()
    await payload.objects.patch(manifest.body, {"data": {"x": "2"}})

    async def the_other() -> None:
        await Wholes(payload.client).patch(
            manifest.body, {"data": {"x": "1"}, "metadata": {"labels": {"by": "other"}}}
        )

    payload.objects.before_patch = the_other
    assert await payload.apply() == ["0000_80_a_00 unchanged"]
    found = await payload.objects.get(manifest.body)
    assert found is not None and (found["data"], found["metadata"]["labels"]) == ({"x": "1"}, {"by": "other"})


async def test_a_definition_whose_names_are_taken_is_waited_for_and_then_named(payload: Payload) -> None:
    first, _ = payload.definition("0000_80_a_01")
    second = payload.add("0000_80_a_02", msgspec.json.decode(msgspec.json.encode(first.body)))
    plural = f"others{payload.suffix}"
    second.body["metadata"]["name"] = f"{plural}.payload.test"
    second.body["spec"]["names"] |= {"plural": plural}
    later = payload.config_map("0000_80_a_03")
    with pytest.raises(PayloadError, match="does not report Established condition") as caught:
        await payload.apply(pace=msgspec.structs.replace(PACE, attempts=1, established=0.5))
    assert [manifest.file for manifest, _ in caught.value.errors] == [second.file]
    assert not await payload.has(later)


def _frozen_data(payload: Payload) -> Manifest:
    manifest = payload.config_map("0000_80_a_00", {"x": "1"})
    return payload.replace(manifest, {**manifest.body, "immutable": True})


def _binding(payload: Payload) -> Manifest:
    group = "rbac.authorization.k8s.io"
    body = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"binding-{payload.suffix}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "one"},
    }
    return payload.add("0000_80_a_00", body)


def _definition(payload: Payload) -> Manifest:
    return payload.definition("0000_80_a_00")[0]


@pytest.mark.parametrize(
    ("make", "change", "said"),
    [
        (_frozen_data, {"data": {"x": "2"}}, "data: Forbidden: field is immutable"),
        (
            _binding,
            {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "two"}},
            "roleRef: Invalid value",
        ),
        (_definition, {"spec": {"scope": "Namespaced"}}, "spec.scope: Invalid value"),
    ],
)
async def test_what_cannot_be_changed_is_said_at_once(
    payload: Payload, make: Callable[[Payload], Manifest], change: dict[str, Any], said: str
) -> None:
    manifest = make(payload)
    await payload.apply()
    before = await payload.objects.get(manifest.body)
    changed = {field: {**manifest.body[field], **value} for field, value in change.items()}
    payload.replace(manifest, {**manifest.body, **changed})
    with pytest.raises(PayloadError) as caught:
        await payload.apply()
    assert isinstance(caught.value.errors[0][1], InvalidInput)
    assert said in str(caught.value) and manifest.place in str(caught.value)
    assert [s.outcome for s in payload.steps] == [Outcome.FAILED]
    assert await payload.objects.get(manifest.body) == before


# The gate


@pytest.fixture
async def operators(client: Client) -> None:
    """The kind ClusterOperator, where a server does not have it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    spec = {
        "group": "config.openshift.io",
        "scope": "Cluster",
        "names": {"plural": OPERATORS, "singular": "clusteroperator", "kind": "ClusterOperator"},
        "versions": [version | {"schema": {"openAPIV3Schema": schema}}],
    }
    metadata = {"name": f"{OPERATORS}.config.openshift.io"}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    manifest = Manifest("0000_00_x_00", 1, body | {"metadata": metadata, "spec": spec})
    await apply([manifest], Wholes(client), Mode.UPDATING, SystemClock(), lambda _: None, pace=PACE)


def cluster_operator(payload: Payload, file: str, version: str) -> Manifest:
    versions = [{"name": "operator", "version": version}]
    body = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": {"name": f"co-{payload.suffix}"},
        "status": {"versions": versions},
    }
    return payload.add(file, body)


async def report(payload: Payload, manifest: Manifest, version: str, **conditions: str) -> None:
    listed = [
        {"type": t, "status": s} for t, s in ({"Available": "True", "Degraded": "False"} | conditions).items()
    ]
    status = {"versions": [{"name": "operator", "version": version}], "conditions": listed}
    path = f"/apis/config.openshift.io/v1/{OPERATORS}/{manifest.identity.name}/status"
    await payload.client.request("PATCH", path, body={"status": status}, content_type=PatchKind.MERGE)


@pytest.mark.usefixtures("operators")
async def test_permissions_go_only_after_the_new_version_has_reported(payload: Payload) -> None:
    """The order that the slow hand-over of spec/operator.md 0.2 was missing."""
    old = payload.config_map("0000_90_a_90")
    await payload.objects.create(old.body)
    old.body["metadata"]["annotations"][DELETE] = "true"
    payload.manifests.clear()
    payload.config_map("0000_80_a_04")
    gate = cluster_operator(payload, "0000_80_a_06", "v2")
    payload.manifests.append(old)
    running = asyncio.create_task(payload.apply())
    await payload.waiting_for("is not available")
    await report(payload, gate, "v1")
    await payload.waiting_for("is updating versions")
    await report(payload, gate, "v2", Degraded="True")
    await payload.waiting_for("is degraded")
    assert await payload.has(old)
    await report(payload, gate, "v2")
    assert await running == ["0000_80_a_04 created", "0000_80_a_06 unchanged", "0000_90_a_90 deleted"]


@pytest.mark.usefixtures("operators")
async def test_a_gate_that_stays_closed_ends_the_pass_with_its_reason(payload: Payload) -> None:
    gate = cluster_operator(payload, "0000_80_a_06", "v2")
    later = payload.config_map("0000_90_a_00")
    await payload.objects.create({k: v for k, v in gate.body.items() if k != "status"})
    await report(payload, gate, "v1")
    with pytest.raises(PayloadError, match="is updating versions") as caught:
        await payload.apply(pace=msgspec.structs.replace(PACE, gate=0.1))
    error = caught.value.errors[0][1]
    assert isinstance(error, GateClosed) and error.reason == "ClusterOperatorUpdating"
    assert not await payload.has(later)


@pytest.mark.usefixtures("operators")
async def test_a_pass_that_was_cancelled_goes_on_where_it_was(payload: Payload) -> None:
    payload.config_map("0000_80_a_00")
    gate = cluster_operator(payload, "0000_80_a_06", "v2")
    later = payload.config_map("0000_90_a_00")
    running = asyncio.create_task(payload.apply())
    await payload.waiting_for("is not available")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await report(payload, gate, "v2")
    assert await payload.apply() == [
        "0000_80_a_00 unchanged",
        "0000_80_a_06 unchanged",
        "0000_90_a_00 created",
    ]
    assert payload.objects.writes.count(f"create {later.identity.name}") == 1
