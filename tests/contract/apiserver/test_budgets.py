"""PodDisruptionBudgets: what they say of their pods, and which of them are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mco.apiserver.server import Settings
from tests.contract.apiserver.definitions import define, definition
from tests.contract.apiserver.embedded import in_thread
from tests.contract.apiserver.endpoint import TABLE, Api, Body, Endpoint
from tests.contract.apiserver.pods import READY, UNREADY, budget, budgets, node, pod, settled

pytestmark = pytest.mark.usefixtures("controllers")


@pytest.mark.parametrize(
    ("spec", "ready", "unready", "desired", "expected", "allowed"),
    [
        ({"minAvailable": 1}, 2, 0, 1, 2, 1),
        ({"minAvailable": 2}, 2, 1, 2, 3, 0),
        ({"minAvailable": 1}, 2, 1, 1, 3, 1),
        ({"minAvailable": 0}, 2, 0, 0, 2, 2),
        ({"minAvailable": 5}, 1, 0, 5, 1, 0),
        ({"minAvailable": 1}, 0, 0, 1, 0, 0),
        # Nobody can tell how many there should be of pods that nothing controls.
        ({"minAvailable": "50%"}, 2, 0, 0, 0, 0),
        ({"maxUnavailable": 1}, 2, 0, 0, 0, 0),
        ({}, 1, 0, 0, 0, 0),
    ],
)
async def test_a_status_counts_pods_that_nothing_controls(
    api: Api, namespace: str, spec: Body, ready: int, unready: int, desired: int, expected: int, allowed: int
) -> None:
    path = await budget(api, namespace, **spec)
    for index in range(ready):
        await pod(api, namespace, f"ready{index}")
    for index in range(unready):
        await pod(api, namespace, f"unready{index}", state=UNREADY)
    status = await settled(
        api,
        path,
        currentHealthy=ready,
        desiredHealthy=desired,
        expectedPods=expected,
        disruptionsAllowed=allowed,
        observedGeneration=1,
    )
    (condition,) = status["conditions"]
    del condition["lastTransitionTime"]
    assert condition == {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "observedGeneration": 1,
    }


async def _owner(api: Api, prefix: str, namespace: str, name: str, replicas: int) -> Body:
    """An object of a definition with a scale subresource, as the controller of pods."""
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    body = definition(prefix, subresources={"status": {}, "scale": scale})
    body["spec"]["scope"] = "Namespaced"
    path = await define(api, body)
    group, version, plural = path.removeprefix("/apis/").split("/")
    kind = body["spec"]["names"]["kind"]
    wanted = {
        "apiVersion": f"{group}/{version}",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"replicas": replicas},
    }
    created = await api.create(
        namespace.replace("/api/v1", f"/apis/{group}/{version}") + f"/{plural}", wanted
    )
    uid = created["metadata"]["uid"]
    return {"apiVersion": f"{group}/{version}", "kind": kind, "name": name, "uid": uid, "controller": True}


SHARES: tuple[tuple[Body, int, int], ...] = (
    ({"minAvailable": "50%"}, 4, 0),
    ({"minAvailable": "1%"}, 1, 2),
    ({"minAvailable": "100%"}, 7, 0),
    ({"minAvailable": "0%"}, 0, 3),
    ({"maxUnavailable": "50%"}, 3, 0),
    ({"maxUnavailable": "72%"}, 1, 2),
    ({"maxUnavailable": 5}, 2, 1),
    ({"maxUnavailable": 9}, 0, 3),
)
"""A spec, the pods that it wants healthy of seven, and the disruptions that it allows of three."""


async def test_controllers_say_how_many_pods_there_should_be(
    api: Api, endpoint: Endpoint, namespace: str, prefix: str
) -> None:
    """Two of them want seven in all, of which three are there and ready; fractions are rounded up."""
    many = await _owner(api, prefix, namespace, "many", 5)
    few = await _owner(api, prefix, namespace, "few", 2)
    endpoint.restart_controllers()
    for index, owner in enumerate((many, many, few)):
        await pod(api, namespace, f"p{index}", owner=owner)
    paths = [await budget(api, namespace, f"b{i}", **spec) for i, (spec, _, _) in enumerate(SHARES)]
    for path, (_, desired, allowed) in zip(paths, SHARES, strict=True):
        wanted = {"desiredHealthy": desired, "disruptionsAllowed": allowed, "observedGeneration": 1}
        await settled(api, path, expectedPods=7, currentHealthy=3, **wanted)


async def test_a_status_follows_its_pods_and_its_spec(api: Api, namespace: str, prefix: str) -> None:
    path = await budget(api, namespace, minAvailable=1)
    bound: Body = {"nodeName": await node(api, prefix), "grace": 60}
    one, two = [await pod(api, namespace, name, **bound) for name in ("one", "two")]
    await settled(api, path, currentHealthy=2, disruptionsAllowed=1)
    assert (await api.patch(f"{one}/status", UNREADY)).status == 200
    await settled(api, path, currentHealthy=1, expectedPods=2, disruptionsAllowed=0)
    assert (await api.patch(f"{one}/status", READY)).status == 200
    await settled(api, path, currentHealthy=2, disruptionsAllowed=1)
    assert (await api.patch(path, {"spec": {"minAvailable": 2}})).status == 200
    await settled(api, path, desiredHealthy=2, disruptionsAllowed=0, observedGeneration=2)
    assert (await api.delete(two)).status == 200
    await settled(api, path, currentHealthy=1, expectedPods=2)
    assert (await api.delete(two, {"gracePeriodSeconds": 0})).status == 200
    await settled(api, path, currentHealthy=1, expectedPods=1)


async def test_a_status_that_says_the_same_is_not_written_again(api: Api, namespace: str) -> None:
    path = await budget(api, namespace, minAvailable=1)
    one = await pod(api, namespace, "one")
    await settled(api, path, currentHealthy=1, expectedPods=1)
    before = (await api.get(path)).body["metadata"]["resourceVersion"]
    assert (await api.patch(one, {"metadata": {"labels": {"another": "x"}}})).status == 200
    await pod(api, namespace, "two", state=UNREADY)
    await settled(api, path, currentHealthy=1, expectedPods=2)
    async with api.watch(budgets(namespace), resourceVersion=before) as events:
        seen = [(await events.next())["object"]["status"]["expectedPods"]]
    assert seen == [2]


async def test_who_was_evicted_counts_again_when_he_stays(api: Api, namespace: str) -> None:
    """Two minutes are enough to be marked."""
    for name in ("one", "two", "three"):
        await pod(api, namespace, name)
    path = await budget(api, namespace, minAvailable=1)
    await settled(api, path, currentHealthy=3)
    now = datetime.now(UTC)
    times = {"one": now, "two": now - timedelta(minutes=5), "gone": now}
    disrupted = {name: time.strftime("%Y-%m-%dT%H:%M:%SZ") for name, time in times.items()}
    assert (await api.patch(f"{path}/status", {"status": {"disruptedPods": disrupted}})).status == 200
    status = await settled(api, path, currentHealthy=2, disruptionsAllowed=1)
    assert status["disruptedPods"] == {"one": disrupted["one"]}


async def test_a_status_that_somebody_forged_is_put_right(api: Api, namespace: str) -> None:
    path = await budget(api, namespace, minAvailable=1)
    await pod(api, namespace, "one")
    right = await settled(api, path, currentHealthy=1, expectedPods=1)
    for wrong in ({"disruptionsAllowed": 7, "currentHealthy": 9}, None):
        assert (await api.patch(f"{path}/status", {"status": wrong})).status == 200
        status = await settled(api, path, currentHealthy=1, disruptionsAllowed=0, observedGeneration=1)
        assert status["expectedPods"] == right["expectedPods"]
    reply = await api.patch(f"{path}/status", {"status": {"expectedPods": -1}})
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, "status.expectedPods")


async def test_a_budget_without_a_spec_is_one(api: Api, namespace: str) -> None:
    await pod(api, namespace, "one")
    await api.create(budgets(namespace), {"metadata": {"name": "b"}})
    status = await settled(api, f"{budgets(namespace)}/b", observedGeneration=1)
    assert (status["expectedPods"], status["disruptionsAllowed"]) == (0, 0)


@pytest.mark.only("embedded")
async def test_a_new_server_settles_what_the_last_one_left(tmp_path: Path) -> None:
    """It ended after an eviction was allowed, and before the Pod was marked."""
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b"
    space = "/api/v1/namespaces/default"
    with in_thread(Settings(data_dir=tmp_path)) as server:
        async with Api.of(server.kubeconfig.read_bytes()) as api:
            await pod(api, space, "one")
            await budget(api, space, minAvailable=0)
            await settled(api, path, disruptionsAllowed=1)
            disrupted = {"one": "2026-01-01T00:00:00Z", "two": "2026-01-01T00:00:00Z"}
            server.core.budgets.observe = lambda revision: None  # type: ignore[method-assign]
            spent = {"disruptedPods": disrupted, "disruptionsAllowed": 0, "currentHealthy": 0}
            await api.patch(f"{path}/status", {"status": spent})
    with in_thread(Settings(data_dir=tmp_path)) as server:
        async with Api.of(server.kubeconfig.read_bytes()) as api:
            status = await settled(api, path, disruptionsAllowed=1, currentHealthy=1)
            assert "disruptedPods" not in status


async def test_an_empty_selector_takes_all_pods_and_none_takes_nobody(api: Api, namespace: str) -> None:
    await pod(api, namespace, "one")
    specs: dict[str, Body] = {"all": {"selector": {}}, "none": {}}
    for name, spec in specs.items():
        await api.create(
            budgets(namespace), {"metadata": {"name": name}, "spec": {"minAvailable": 0, **spec}}
        )
        status = await settled(api, f"{budgets(namespace)}/{name}", observedGeneration=1)
        assert status["expectedPods"] == len(spec)
        assert (await api.delete(f"{budgets(namespace)}/{name}")).status == 200


async def test_a_new_budget_allows_nothing_yet(api: Api, namespace: str) -> None:
    body = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 9}}
    created = await api.create(budgets(namespace), body)
    zeros = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    assert created["status"] == dict.fromkeys(zeros, 0)
    assert created["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"minAvailable": 1, "maxUnavailable": 1}, {"spec": "FieldValueInvalid"}),
        ({"minAvailable": -1}, {"spec.minAvailable": "FieldValueInvalid"}),
        ({"minAvailable": "101%"}, {"spec.minAvailable": "FieldValueInvalid"}),
        ({"minAvailable": "10"}, {"spec.minAvailable": "FieldValueInvalid"}),
        ({"minAvailable": ""}, {"spec.minAvailable": "FieldValueInvalid"}),
        ({"maxUnavailable": "-1%"}, {"spec.maxUnavailable": "FieldValueInvalid"}),
        ({"maxUnavailable": "half"}, {"spec.maxUnavailable": "FieldValueInvalid"}),
        (
            {"unhealthyPodEvictionPolicy": "Never"},
            {"spec.unhealthyPodEvictionPolicy": "FieldValueNotSupported"},
        ),
        ({"selector": {"matchLabels": {"-": "a"}}}, {"spec.selector.matchLabels": "FieldValueInvalid"}),
        ({"selector": {"matchLabels": {"a": "-"}}}, {"spec.selector.matchLabels": "FieldValueInvalid"}),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            {"spec.selector.matchExpressions[0].values": "FieldValueRequired"},
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
            {"spec.selector.matchExpressions[0].values": "FieldValueForbidden"},
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a b", "operator": "Like", "values": ["-"]}]}},
            {
                "spec.selector.matchExpressions[0].operator": "FieldValueInvalid",
                "spec.selector.matchExpressions[0].key": "FieldValueInvalid",
                "spec.selector.matchExpressions[0].values[0]": "FieldValueInvalid",
            },
        ),
    ],
)
async def test_what_no_budget_can_say(api: Api, namespace: str, spec: Body, causes: dict[str, str]) -> None:
    reply = await api.post(budgets(namespace), {"metadata": {"name": "b"}, "spec": spec})
    assert reply.status == 422
    assert {cause["field"]: cause["reason"] for cause in reply.body["details"]["causes"]} == causes


async def test_an_update_needs_the_version_that_it_changes(api: Api, namespace: str) -> None:
    path = await budget(api, namespace, minAvailable=1)
    await settled(api, path, observedGeneration=1)
    reply = await api.put(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 2}})
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


async def test_columns(api: Api, namespace: str) -> None:
    await budget(api, namespace, minAvailable="30%")
    await budget(api, namespace, "c", maxUnavailable=2)
    table = (await api.request("GET", budgets(namespace), accept=TABLE)).body
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "Min Available",
        "Max Unavailable",
        "Allowed Disruptions",
        "Age",
    ]
    assert [row["cells"][:4] for row in table["rows"]] == [["b", "30%", "N/A", 0], ["c", "N/A", "2", 0]]
