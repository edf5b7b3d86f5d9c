"""Eviction, and the budgets that may refuse it."""

from __future__ import annotations

import asyncio

import pytest

from tests.contract.apiserver.endpoint import Api, Body, Reply
from tests.contract.apiserver.pods import UNREADY, budget, eviction, node, pod, settled

VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


async def _evict(api: Api, path: str, **options: object) -> Reply:
    body = eviction(path.rpartition("/")[2], **({"deleteOptions": options} if options else {}))
    return await api.post(f"{path}/eviction", body)


async def _evicted(api: Api, path: str) -> None:
    """Asks until it may go: the state of a budget follows the pods a little later."""
    async with asyncio.timeout(30):
        while (reply := await _evict(api, path)).status != 201:
            assert reply.status == 429, reply.body
            await asyncio.sleep(0.05)


@pytest.mark.usefixtures("controllers")
async def test_a_budget_refuses_what_it_cannot_spare(api: Api, namespace: str) -> None:
    one, two = [await pod(api, namespace, name) for name in ("one", "two")]
    await budget(api, namespace, minAvailable=1)
    await _evicted(api, one)
    assert (await _evict(api, two)).status == 429
    assert (await api.get(two)).status == 200


@pytest.mark.usefixtures("controllers")
async def test_a_refusal_says_how_many_pods_a_budget_needs(api: Api, namespace: str) -> None:
    one = await pod(api, namespace, "one")
    await settled(api, await budget(api, namespace, minAvailable=1), currentHealthy=1)
    reply = await _evict(api, one)
    cause = "The disruption budget b needs 1 healthy pods and has 1 currently"
    assert reply.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": VIOLATED,
        "reason": "TooManyRequests",
        "details": {"causes": [{"reason": "DisruptionBudget", "message": cause}]},
        "code": 429,
    }
    assert "Retry-After" not in reply.headers


@pytest.mark.usefixtures("controllers")
async def test_a_budget_that_cannot_be_worked_out_says_why(api: Api, namespace: str) -> None:
    """A ConfigMap controls the Pod, and cannot say how many pods it wants."""
    owner = await api.create(f"{namespace}/configmaps", {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": True}
    reference["uid"] = owner["metadata"]["uid"]
    path = await budget(api, namespace, minAvailable=0)
    await settled(api, path, observedGeneration=1)
    one = await pod(api, namespace, "one", owner=reference)
    await settled(api, path, disruptionsAllowed=1)
    changed = {"spec": {"minAvailable": None, "maxUnavailable": 1}}
    assert (await api.patch(path, changed)).status == 200
    status = await settled(api, path, disruptionsAllowed=0)
    (condition,) = status["conditions"]
    assert (condition["reason"], condition["status"]) == ("SyncFailed", "False")
    assert condition["message"] == "configmaps does not implement the scale subresource"
    assert status["observedGeneration"] == 1
    reply = await _evict(api, one)
    assert (reply.status, reply.message) == (429, VIOLATED)
    (cause,) = reply.body["details"]["causes"]
    assert cause["message"] == "The disruption budget b is still being processed by the server."
    assert (reply.headers["Retry-After"], reply.body["details"]["retryAfterSeconds"]) == ("10", 10)


@pytest.mark.usefixtures("controllers")
async def test_a_pod_of_no_budget_is_free_to_go(api: Api, namespace: str) -> None:
    await settled(api, await budget(api, namespace, minAvailable=1), observedGeneration=1)
    other = await pod(api, namespace, "other")
    assert (await api.patch(other, {"metadata": {"labels": {"app": "b"}}})).status == 200
    assert (await _evict(api, other)).status == 201


async def test_two_budgets_for_one_pod_are_one_too_many(api: Api, namespace: str) -> None:
    one = await pod(api, namespace, "one")
    for name in ("b", "c"):
        await budget(api, namespace, name, minAvailable=0)
    reply = await _evict(api, one)
    assert reply.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
        "support.",
        "code": 500,
    }


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
@pytest.mark.usefixtures("controllers")
async def test_who_does_not_run_asks_no_budget(api: Api, namespace: str, phase: str) -> None:
    one = await pod(api, namespace, "one", state={"status": {"phase": phase}})
    await settled(api, await budget(api, namespace, minAvailable=1), expectedPods=1)
    assert (await _evict(api, one)).status == 201
    assert (await api.get(one)).status == 404


@pytest.mark.parametrize(
    ("policy", "healthy", "needed", "code"),
    [
        (None, 1, 1, 201),
        (None, 1, 2, 429),
        (None, 0, 0, 429),
        ("IfHealthyBudget", 1, 1, 201),
        ("IfHealthyBudget", 1, 2, 429),
        ("AlwaysAllow", 1, 1, 201),
        ("AlwaysAllow", 1, 2, 201),
        ("AlwaysAllow", 0, 1, 201),
    ],
)
@pytest.mark.usefixtures("controllers")
async def test_who_is_not_ready_goes_by_the_policy(
    api: Api, namespace: str, policy: str | None, healthy: int, needed: int, code: int
) -> None:
    sick = await pod(api, namespace, "sick", state=UNREADY)
    for index in range(healthy):
        await pod(api, namespace, f"p{index}")
    more = {"unhealthyPodEvictionPolicy": policy} if policy else {}
    path = await budget(api, namespace, minAvailable=needed, **more)
    before = await settled(api, path, expectedPods=healthy + 1, currentHealthy=healthy)
    assert (await _evict(api, sick)).status == code
    after = (await api.get(path)).body["status"]
    assert after["disruptionsAllowed"] == before["disruptionsAllowed"]


@pytest.mark.usefixtures("controllers")
async def test_a_dry_run_spends_nothing(api: Api, namespace: str) -> None:
    one, two = [await pod(api, namespace, name) for name in ("one", "two")]
    path = await budget(api, namespace, minAvailable=1)
    await settled(api, path, disruptionsAllowed=1)
    for each in (one, two):
        assert (await _evict(api, each, dryRun=["All"])).status == 201
    assert (await api.post(f"{one}/eviction", eviction("one"), dryRun="All")).status == 201
    assert "disruptedPods" not in (await api.get(path)).body["status"]
    assert [c["type"] for c in (await api.get(one)).body["status"]["conditions"]] == ["Ready"]


@pytest.mark.usefixtures("controllers")
async def test_what_was_evicted_counts_no_more_while_it_is_on_its_way(
    api: Api, namespace: str, prefix: str
) -> None:
    bound: Body = {"nodeName": await node(api, prefix), "grace": 60}
    one, two, three = [await pod(api, namespace, name, **bound) for name in ("one", "two", "three")]
    path = await budget(api, namespace, minAvailable=2)
    await settled(api, path, disruptionsAllowed=1, currentHealthy=3)
    assert (await _evict(api, one)).status == 201
    leaving = (await api.get(one)).body
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 60
    (why,) = [c for c in leaving["status"]["conditions"] if c["type"] == "DisruptionTarget"]
    assert (why["status"], why["reason"]) == ("True", "EvictionByEvictionAPI")
    assert why["message"] == "Eviction API: evicting"
    assert (await _evict(api, two)).status == 429
    # Who is on the way out already is let go again.
    assert (await _evict(api, one)).status == 201
    await settled(api, path, disruptionsAllowed=0, currentHealthy=2, expectedPods=3, disruptedPods=None)
    assert (await api.delete(one, {"gracePeriodSeconds": 0})).status == 200
    await settled(api, path, disruptionsAllowed=0, currentHealthy=2, expectedPods=2)
    assert (await api.get(three)).status == 200


@pytest.mark.usefixtures("controllers")
async def test_who_asks_at_the_same_time_shares_no_disruption(api: Api, namespace: str) -> None:
    paths = [await pod(api, namespace, f"p{index}") for index in range(8)]
    await settled(api, await budget(api, namespace, minAvailable=5), disruptionsAllowed=3)
    replies = await asyncio.gather(*(_evict(api, path) for path in paths))
    assert sorted(reply.status for reply in replies) == [201] * 3 + [429] * 5


async def test_a_dry_run_evicts_nobody(api: Api, namespace: str) -> None:
    one = await pod(api, namespace, "one")
    assert (await _evict(api, one, dryRun=["All"])).status == 201
    assert (await api.get(one)).status == 200


@pytest.mark.only("embedded")
async def test_who_waits_to_run_is_not_confused_with_another(api: Api, namespace: str) -> None:
    """The real server says the same after ten seconds."""
    one = await pod(api, namespace, "one", state=None)
    reply = await _evict(api, one, preconditions={"uid": "11111111-1111-1111-1111-111111111111"})
    assert (reply.status, reply.body["reason"]) == (409, "Conflict")
    assert "the UID in the precondition" in reply.message
    assert (await api.get(one)).status == 200


async def test_an_eviction_keeps_its_preconditions(api: Api, namespace: str) -> None:
    one = await pod(api, namespace, "one")
    found: Body = (await api.get(one)).body["metadata"]
    for wrong in ({"uid": "11111111-1111-1111-1111-111111111111"}, {"resourceVersion": "1"}):
        reply = await _evict(api, one, preconditions=wrong)
        assert (reply.status, reply.body["reason"]) == (409, "Conflict")
    right = {"uid": found["uid"], "resourceVersion": found["resourceVersion"]}
    assert (await _evict(api, one, preconditions=right)).status == 201
    assert (await api.get(one)).status == 404


async def test_who_is_not_there_is_not_evicted(api: Api, namespace: str) -> None:
    assert (await api.post(f"{namespace}/pods/none/eviction", eviction("none"))).status == 404
