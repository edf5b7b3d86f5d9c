"""Eviction, and the budgets that may refuse it."""

from __future__ import annotations

import asyncio

import pytest

from tests.contract.apiserver.endpoint import Api, Body

READY: Body = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


def _eviction(name: str, **more: object) -> Body:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


async def _pod(api: Api, namespace: str, name: str, *, ready: bool = True) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
    await api.create(f"{namespace}/pods", {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": spec})
    if ready:
        assert (await api.patch(f"{namespace}/pods/{name}/status", READY)).status == 200


async def _budget(api: Api, namespace: str, name: str, **spec: object) -> str:
    budgets = namespace.replace("/api/v1", "/apis/policy/v1") + "/poddisruptionbudgets"
    await api.create(
        budgets, {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "a"}}, **spec}}
    )
    return f"{budgets}/{name}"


async def _evicted(api: Api, namespace: str, name: str, code: int) -> Body:
    """Asks until the answer is that: the state of a budget follows the pods a little later."""
    async with asyncio.timeout(20):
        while True:
            reply = await api.post(f"{namespace}/pods/{name}/eviction", _eviction(name))
            if reply.status == code:
                body: Body = reply.body
                return body
            assert reply.status == 429, reply.body
            await asyncio.sleep(0.05)


@pytest.mark.usefixtures("controllers")
async def test_a_budget_refuses_what_it_cannot_spare(api: Api, namespace: str) -> None:
    for name in ("one", "two"):
        await _pod(api, namespace, name)
    await _budget(api, namespace, "b", minAvailable=1)
    await _evicted(api, namespace, "one", 201)
    reply = await api.post(f"{namespace}/pods/two/eviction", _eviction("two"))
    assert (reply.status, reply.body["reason"]) == (429, "TooManyRequests")
    assert reply.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert reply.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    assert (await api.get(f"{namespace}/pods/two")).status == 200


@pytest.mark.usefixtures("controllers")
async def test_a_budget_says_how_many_it_needs(api: Api, namespace: str) -> None:
    await _pod(api, namespace, "one")
    path = await _budget(api, namespace, "b", minAvailable=1)
    async with asyncio.timeout(20):
        while (await api.get(path)).body.get("status", {}).get("currentHealthy") != 1:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    reply = await api.post(f"{namespace}/pods/one/eviction", _eviction("one"))
    assert reply.status == 429
    (cause,) = reply.body["details"]["causes"]
    assert cause["message"] == "The disruption budget b needs 1 healthy pods and has 1 currently"


@pytest.mark.usefixtures("controllers")
async def test_a_pod_of_no_budget_is_free_to_go(api: Api, namespace: str) -> None:
    await _budget(api, namespace, "b", minAvailable=1)
    spec = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
    await api.create(f"{namespace}/pods", {"metadata": {"name": "other"}, "spec": spec})
    await _evicted(api, namespace, "other", 201)


async def test_two_budgets_for_one_pod_are_one_too_many(api: Api, namespace: str) -> None:
    await _pod(api, namespace, "one")
    for name in ("b", "c"):
        await _budget(api, namespace, name, minAvailable=0)
    reply = await api.post(f"{namespace}/pods/one/eviction", _eviction("one"))
    assert reply.status == 500
    assert reply.message == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )


async def test_a_dry_run_evicts_nobody(api: Api, namespace: str) -> None:
    await _pod(api, namespace, "one")
    body = _eviction("one", deleteOptions={"dryRun": ["All"]})
    assert (await api.post(f"{namespace}/pods/one/eviction", body)).status == 201
    assert (await api.get(f"{namespace}/pods/one")).status == 200


async def test_an_eviction_keeps_its_preconditions(api: Api, namespace: str) -> None:
    await _pod(api, namespace, "one")
    other = {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}}
    reply = await api.post(f"{namespace}/pods/one/eviction", _eviction("one", deleteOptions=other))
    assert (reply.status, reply.body["reason"]) == (409, "Conflict")
    assert (await api.get(f"{namespace}/pods/one")).status == 200


async def test_who_is_not_there_is_not_evicted(api: Api, namespace: str) -> None:
    assert (await api.post(f"{namespace}/pods/none/eviction", _eviction("none"))).status == 404
