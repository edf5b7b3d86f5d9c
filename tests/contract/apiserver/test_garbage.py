"""What goes when something else goes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.apiserver.endpoint import Api, Body

pytestmark = pytest.mark.usefixtures("controllers")


def owned(name: str, *owners: Body, **reference: Any) -> Body:
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
        | reference
        for o in owners
    ]
    return {"metadata": {"name": name, "ownerReferences": references}}


async def _gone(api: Api, path: str, *names: str) -> None:
    """Waits until all of them are deleted."""
    left = set(names)
    listed = (await api.get(path)).body
    left &= {item["metadata"]["name"] for item in listed["items"]}
    async with api.watch(path, resourceVersion=listed["metadata"]["resourceVersion"]) as events:
        while left:
            event = await events.next()
            if event["type"] == "DELETED":
                left.discard(event["object"]["metadata"]["name"])


async def test_dependents_follow_their_owner(api: Api, namespace: str) -> None:
    path = f"{namespace}/configmaps"
    owner = await api.create(path, {"metadata": {"name": "owner"}})
    child = await api.create(path, owned("child", owner))
    await api.create(path, owned("grandchild", child))
    await api.delete(f"{path}/owner")
    await _gone(api, path, "child", "grandchild")


async def test_one_of_two_owners_is_enough_to_stay(api: Api, namespace: str) -> None:
    path = f"{namespace}/configmaps"
    first = await api.create(path, {"metadata": {"name": "first"}})
    second = await api.create(path, {"metadata": {"name": "second"}})
    await api.create(path, owned("child", first, second))
    async with api.watch(path, fieldSelector="metadata.name=child") as events:
        await events.next()
        await api.delete(f"{path}/first")
        changed = await events.next()
    assert changed["type"] == "MODIFIED"
    assert [ref["name"] for ref in changed["object"]["metadata"]["ownerReferences"]] == ["second"]


async def test_who_comes_after_its_owner_went_goes_too(api: Api, namespace: str) -> None:
    path = f"{namespace}/configmaps"
    owner = await api.create(path, {"metadata": {"name": "owner"}})
    await api.delete(f"{path}/owner")
    await api.create(path, owned("late", owner))
    await _gone(api, path, "late")


async def test_an_owner_of_the_same_name_is_not_the_owner(api: Api, namespace: str) -> None:
    path = f"{namespace}/configmaps"
    owner = await api.create(path, {"metadata": {"name": "owner"}})
    await api.create(path, owned("child", owner))
    await api.delete(f"{path}/owner")
    await api.create(path, {"metadata": {"name": "owner"}})
    await _gone(api, path, "child")


async def test_orphans_stay(api: Api, namespace: str) -> None:
    path = f"{namespace}/configmaps"
    owner = await api.create(path, {"metadata": {"name": "owner"}})
    await api.create(path, owned("child", owner))
    await api.delete(f"{path}/owner", {"propagationPolicy": "Orphan"})
    await _gone(api, path, "owner")
    child = (await api.get(f"{path}/child")).body
    assert "ownerReferences" not in child["metadata"]


async def test_in_the_foreground_the_owner_goes_last(api: Api, namespace: str) -> None:
    path = f"{namespace}/configmaps"
    owner = await api.create(path, {"metadata": {"name": "owner"}})
    held = owned("child", owner, blockOwnerDeletion=True)
    held["metadata"]["finalizers"] = ["example.com/wait"]
    await api.create(path, held)
    reply = await api.delete(f"{path}/owner", {"propagationPolicy": "Foreground"})
    assert reply.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    async with api.watch(path, fieldSelector="metadata.name=child") as events:
        while not (await events.next())["object"]["metadata"].get("deletionTimestamp"):
            pass
    assert (await api.get(f"{path}/owner")).status == 200
    await api.patch(f"{path}/child", {"metadata": {"finalizers": None}})
    await _gone(api, path, "owner")


async def test_a_namespace_is_emptied_before_it_goes(api: Api, namespace: str, prefix: str) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/wait"]}}
    await api.create(f"{namespace}/configmaps", held)
    await api.create(f"{namespace}/secrets", {"metadata": {"name": "s"}})
    reply = await api.delete(namespace)
    assert reply.body["status"]["phase"] == "Terminating"
    refused = await api.post(f"{namespace}/configmaps", {"metadata": {"name": "late"}})
    assert refused.status == 403
    assert "because it is being terminated" in refused.message
    await _gone(api, f"{namespace}/secrets", "s")
    assert (await api.get(namespace)).status == 200
    async with api.watch("/api/v1/namespaces", fieldSelector=f"metadata.name={prefix}") as events:
        await api.patch(f"{namespace}/configmaps/held", {"metadata": {"finalizers": None}})
        await events.until("DELETED")


async def test_some_namespaces_never_go(api: Api) -> None:
    reply = await api.delete("/api/v1/namespaces/kube-system")
    assert (reply.status, reply.body["reason"]) == (403, "Forbidden")
    assert reply.message == 'namespaces "kube-system" is forbidden: this namespace may not be deleted'
