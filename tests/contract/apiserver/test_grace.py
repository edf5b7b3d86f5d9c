"""Graceful deletion: a Pod waits for the kubelet of its Node, and everything else goes at once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.contract.apiserver.endpoint import Api, Body
from tests.contract.apiserver.pods import READY, node, pod


def _times(body: Body) -> tuple[datetime, int]:
    metadata = body["metadata"]
    return datetime.fromisoformat(metadata["deletionTimestamp"]), metadata["deletionGracePeriodSeconds"]


async def _bound(api: Api, namespace: str, prefix: str, **more: object) -> str:
    more = {"grace": 60} | more
    return await pod(api, namespace, "one", nodeName=await node(api, prefix), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "grace"), [(None, 60), (20, 20), (90, 90), (-5, 1)], ids=["its-own", "less", "more", "negative"]
)
async def test_a_deleted_pod_waits_for_its_kubelet(
    api: Api, namespace: str, prefix: str, asked: int | None, grace: int
) -> None:
    path = await _bound(api, namespace, prefix)
    before = (await api.get(path)).body
    options = {} if asked is None else {"gracePeriodSeconds": asked}
    reply = await api.delete(path, options)
    assert reply.status == 200
    assert reply.body["kind"] == "Pod"
    end, left = _times(reply.body)
    assert left == grace
    began = datetime.fromisoformat(before["metadata"]["creationTimestamp"])
    assert timedelta(seconds=grace) <= end - began <= timedelta(seconds=grace + 60)
    after = (await api.get(path)).body
    assert _times(after) == (end, left)
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1


async def test_the_kubelet_has_the_last_word(api: Api, namespace: str, prefix: str) -> None:
    path = await _bound(api, namespace, prefix)
    await api.delete(path)
    uid = (await api.get(path)).body["metadata"]["uid"]
    assert (await api.patch(f"{path}/status", {"status": {"phase": "Running"}})).status == 200
    last = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
    reply = await api.delete(path, last)
    assert (reply.status, reply.body["kind"]) == (200, "Pod")
    assert (await api.get(path)).status == 404


async def test_a_second_deletion_only_shortens(api: Api, namespace: str, prefix: str) -> None:
    path = await _bound(api, namespace, prefix, grace=600)
    first, _ = _times((await api.delete(path)).body)
    for asked in (None, 600, 900):
        options = {} if asked is None else {"gracePeriodSeconds": asked}
        assert _times((await api.delete(path, options)).body) == (first, 600)
    second = (await api.delete(path, {"gracePeriodSeconds": 100})).body
    assert _times(second) == (first - timedelta(seconds=500), 100)
    assert second["metadata"]["generation"] == (await api.get(path)).body["metadata"]["generation"]
    assert (await api.delete(path, {"gracePeriodSeconds": 0})).status == 200
    assert (await api.get(path)).status == 404


async def test_the_grace_may_stand_in_the_query(api: Api, namespace: str, prefix: str) -> None:
    path = await _bound(api, namespace, prefix)
    reply = await api.request("DELETE", path, gracePeriodSeconds="7")
    assert _times(reply.body)[1] == 7
    assert (await api.request("DELETE", path, gracePeriodSeconds="0")).status == 200
    assert (await api.get(path)).status == 404


async def test_a_collection_waits_too(api: Api, namespace: str, prefix: str) -> None:
    path = await _bound(api, namespace, prefix)
    await pod(api, namespace, "unbound", grace=60)
    assert (await api.delete(f"{namespace}/pods", {"gracePeriodSeconds": 30})).status == 200
    assert _times((await api.get(path)).body)[1] == 30
    assert (await api.get(f"{namespace}/pods/unbound")).status == 404


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_what_has_ended_goes_at_once(api: Api, namespace: str, prefix: str, phase: str) -> None:
    path = await _bound(api, namespace, prefix, state={"status": {"phase": phase}})
    reply = await api.delete(path)
    assert (reply.status, _times(reply.body)[1]) == (200, 0)
    assert (await api.get(path)).status == 404


async def test_what_runs_nowhere_goes_at_once(api: Api, namespace: str) -> None:
    path = await pod(api, namespace, "one", grace=60)
    reply = await api.delete(path)
    assert (reply.status, reply.body["kind"], _times(reply.body)[1]) == (200, "Pod", 0)
    assert (await api.get(path)).status == 404


async def test_a_finalizer_outlives_the_grace(api: Api, namespace: str, prefix: str) -> None:
    path = await _bound(api, namespace, prefix)
    assert (await api.patch(path, {"metadata": {"finalizers": ["example.com/wait"]}})).status == 200
    await api.delete(path)
    reply = await api.delete(path, {"gracePeriodSeconds": 0})
    assert (reply.status, _times(reply.body)[1]) == (200, 0)
    assert (await api.get(path)).status == 200
    assert (await api.patch(path, {"metadata": {"finalizers": None}})).status == 200
    assert (await api.get(path)).status == 404


async def test_without_finalizers_the_grace_is_waited_for(api: Api, namespace: str, prefix: str) -> None:
    path = await _bound(api, namespace, prefix)
    assert (await api.patch(path, {"metadata": {"finalizers": ["example.com/wait"]}})).status == 200
    await api.delete(path)
    assert (await api.patch(path, {"metadata": {"finalizers": None}})).status == 200
    assert _times((await api.get(path)).body)[1] == 60


async def test_a_dry_run_deletes_nobody(api: Api, namespace: str, prefix: str) -> None:
    path = await _bound(api, namespace, prefix)
    reply = await api.delete(path, {"dryRun": ["All"]})
    assert _times(reply.body)[1] == 60
    assert "deletionTimestamp" not in (await api.get(path)).body["metadata"]


async def test_a_service_account_is_shown_when_it_goes(api: Api, namespace: str) -> None:
    await api.create(f"{namespace}/serviceaccounts", {"metadata": {"name": "s"}})
    reply = await api.delete(f"{namespace}/serviceaccounts/s")
    assert (reply.status, reply.body["kind"]) == (200, "ServiceAccount")


@pytest.mark.only("embedded")
async def test_without_a_kubelet_nobody_is_waited_for(api: Api, namespace: str, prefix: str) -> None:
    """On a real server it is the Pod's own node that lacks; here none has to have one."""
    await node(api, prefix, kubelet="")
    path = await pod(api, namespace, "one", nodeName=prefix, grace=600)
    async with api.watch(f"{namespace}/pods") as events:
        await api.delete(path)
        *_, gone = await events.until("DELETED")
    assert gone["object"]["metadata"]["name"] == "one"


@pytest.mark.only("embedded")
async def test_a_kubelet_that_left_with_its_node_is_not_waited_for(
    api: Api, namespace: str, prefix: str
) -> None:
    path = await _bound(api, namespace, prefix, grace=600, state=READY)
    async with api.watch(f"{namespace}/pods") as events:
        assert (await api.delete(path)).status == 200
        await api.delete(f"/api/v1/nodes/{prefix}")
        await events.until("DELETED")
    assert (await api.get(path)).status == 404
