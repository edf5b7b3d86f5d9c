"""List: selectors, pages, revisions."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.endpoint import Api, Body


def _names(body: Body) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


@pytest.fixture
async def maps(api: Api, namespace: str) -> str:
    """Config maps a to e; b and d have the label tier=back, the others tier=front."""
    for name in "abcde":
        metadata = {"name": name, "labels": {"tier": "back" if name in "bd" else "front"}}
        await api.create(f"{namespace}/configmaps", {"metadata": metadata})
    return f"{namespace}/configmaps"


async def test_a_list_has_kind_revision_and_order(api: Api, maps: str) -> None:
    body = (await api.get(maps)).body
    assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
    assert _names(body) == list("abcde")
    newest = max(int(item["metadata"]["resourceVersion"]) for item in body["items"])
    assert int(body["metadata"]["resourceVersion"]) >= newest


async def test_all_namespaces_are_listed_at_once(api: Api, maps: str) -> None:
    body = (await api.get("/api/v1/configmaps")).body
    mine = maps.split("/")[4]
    assert [i["metadata"]["name"] for i in body["items"] if i["metadata"]["namespace"] == mine] == list(
        "abcde"
    )


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=back", "bd"),
        ("tier!=back", "ace"),
        ("tier in (back,front)", "abcde"),
        ("tier notin (front)", "bd"),
        ("!tier", ""),
        ("tier", "abcde"),
        ("missing", ""),
    ],
)
async def test_labels_select(api: Api, maps: str, selector: str, names: str) -> None:
    assert _names((await api.get(maps, labelSelector=selector)).body) == list(names)


@pytest.mark.parametrize(
    ("selector", "names"),
    [("metadata.name=b", "b"), ("metadata.name!=b", "acde"), ("metadata.name=b,metadata.name=c", "")],
)
async def test_fields_select(api: Api, maps: str, selector: str, names: str) -> None:
    assert _names((await api.get(maps, fieldSelector=selector)).body) == list(names)


async def test_labels_and_fields_both_count(api: Api, maps: str) -> None:
    body = (await api.get(maps, fieldSelector="metadata.name=b", labelSelector="tier=front")).body
    assert _names(body) == []


async def test_kinds_have_fields_of_their_own(api: Api, namespace: str, prefix: str) -> None:
    for name, node in (("p1", "n1"), ("p2", "n2")):
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": node}
        await api.create(f"{namespace}/pods", {"metadata": {"name": name}, "spec": spec})
    assert _names((await api.get(f"{namespace}/pods", fieldSelector="spec.nodeName=n2")).body) == ["p2"]
    await api.create("/api/v1/nodes", {"metadata": {"name": prefix}, "spec": {"unschedulable": True}})
    body = (await api.get("/api/v1/nodes", fieldSelector="spec.unschedulable=true")).body
    assert prefix in _names(body)
    body = (await api.get("/api/v1/nodes", fieldSelector="spec.unschedulable=false")).body
    assert prefix not in _names(body)


async def test_an_unknown_field_is_refused(api: Api, maps: str) -> None:
    reply = await api.get(maps, fieldSelector="data.k=v")
    assert reply.status == 400
    assert reply.message == (
        '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
    reply = await api.get("/api/v1/nodes", fieldSelector="data.k=v")
    assert (reply.status, reply.message) == (400, "field label not supported: data.k")


async def test_a_bad_label_selector_is_refused(api: Api, maps: str) -> None:
    assert (await api.get(maps, labelSelector="a=b=c")).status == 400


async def test_pages_follow_each_other(api: Api, maps: str) -> None:
    first = (await api.get(maps, limit="2")).body
    assert (_names(first), first["metadata"]["remainingItemCount"]) == (["a", "b"], 3)
    second = (await api.get(maps, limit="2", continue_=first["metadata"]["continue"])).body
    assert _names(second) == ["c", "d"]
    third = (await api.get(maps, limit="2", continue_=second["metadata"]["continue"])).body
    assert _names(third) == ["e"]
    assert "continue" not in third["metadata"]


async def test_pages_are_of_one_revision(api: Api, maps: str) -> None:
    """What changes between two pages is not seen in the second one."""
    first = (await api.get(maps, limit="2")).body
    await api.create(maps, {"metadata": {"name": "cc"}})
    await api.delete(f"{maps}/d")
    await api.patch(f"{maps}/e", {"data": {"k": "v"}})
    rest = (await api.get(maps, continue_=first["metadata"]["continue"])).body
    assert _names(rest) == ["c", "d", "e"]
    assert "data" not in rest["items"][2]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_page_of_a_selection_is_full(api: Api, maps: str) -> None:
    first = (await api.get(maps, labelSelector="tier=front", limit="2")).body
    assert _names(first) == ["a", "c"]
    token = first["metadata"]["continue"]
    rest = (await api.get(maps, labelSelector="tier=front", limit="2", continue_=token)).body
    assert _names(rest) == ["e"]


@pytest.mark.parametrize("token", ["x", "e30", "!!!!"])
async def test_a_foreign_continue_token_is_refused(api: Api, maps: str, token: str) -> None:
    reply = await api.get(maps, continue_=token)
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")


async def test_an_exact_revision_can_be_listed(api: Api, maps: str) -> None:
    then = (await api.get(maps)).body["metadata"]["resourceVersion"]
    await api.delete(f"{maps}/a")
    body = (await api.get(maps, resourceVersion=then, resourceVersionMatch="Exact")).body
    assert (_names(body), body["metadata"]["resourceVersion"]) == (list("abcde"), then)
    newer = (await api.get(maps, resourceVersion=then, resourceVersionMatch="NotOlderThan")).body
    assert _names(newer) == list("bcde")


async def test_a_revision_of_the_future_is_refused(api: Api, maps: str) -> None:
    reply = await api.get(maps, resourceVersion="999999999")
    assert (reply.status, reply.body["reason"]) == (504, "Timeout")
    assert "Too large resource version" in reply.message


@pytest.mark.parametrize(
    "query", [{"limit": "x"}, {"resourceVersion": "-1"}, {"resourceVersionMatch": "Exact"}, {"limit": "٣"}]
)
async def test_bad_parameters_are_refused(api: Api, maps: str, query: dict[str, str]) -> None:
    assert (await api.get(maps, **query)).status in (400, 422)
