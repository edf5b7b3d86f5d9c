"""How large something may be: a request, an object, what a database takes, and a number."""

from __future__ import annotations

import re

import pytest

from tests.contract.apiserver.definitions import define, definition
from tests.contract.apiserver.endpoint import Api, Body

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (MIB * 3 // 2 - 2000, ""),
        (MIB * 3 // 2, "etcdserver: request is too large"),
        (
            MIB * 2,
            "rpc error: code = ResourceExhausted desc = "
            "trying to send message larger than max (N vs. 2097152)",
        ),
    ],
)
async def test_an_object_that_a_database_does_not_take(api: Api, prefix: str, size: int, said: str) -> None:
    path = await define(api, definition(prefix))
    reply = await api.post(path, {"metadata": {"name": "large"}, "spec": {"a": "x" * size}})
    if not said:
        assert reply.status == 201
        said = "etcdserver: request is too large"
        reply = await api.patch(f"{path}/large", {"spec": {"b": "x" * 4000}})
        assert "b" not in (await api.get(f"{path}/large")).body["spec"]
    else:
        assert (await api.get(f"{path}/large")).status == 404
    assert (reply.status, "reason" in reply.body) == (500, False)
    assert re.sub(r"\(\d+", "(N", reply.message) == said


async def test_what_is_not_stored_may_be_larger(api: Api, prefix: str) -> None:
    path = await define(api, definition(prefix))
    body: Body = {"metadata": {"name": "large"}, "spec": {"a": "x" * 2 * MIB}}
    assert (await api.post(path, body, dryRun="All")).status == 201


@pytest.mark.parametrize(("plural", "field"), [("configmaps", "[]"), ("secrets", "data")])
async def test_the_data_of_one_object(api: Api, namespace: str, plural: str, field: str) -> None:
    """In bytes, whatever stands for a character."""

    def data(size: int) -> Body:
        key = "data" if plural == "configmaps" else "stringData"
        return {"metadata": {"generateName": "d-"}, key: {"k": "\u00e9" * (size // 2) + "x" * (size % 2)}}

    assert (await api.post(f"{namespace}/{plural}", data(MIB))).status == 201
    reply = await api.post(f"{namespace}/{plural}", data(MIB + 1))
    assert reply.status == 422
    assert f"{field}: Too long: may not be more than 1048576 bytes" in reply.message


@pytest.mark.parametrize(
    ("percentage", "refused"),
    [("9" * 5000, True), ("0" * 5000 + "100", False), ("0" * 5000, False), ("101", True)],
    ids=["nines", "one hundred", "zeros", "one more"],
)
async def test_a_percentage_of_any_length(api: Api, namespace: str, percentage: str, refused: bool) -> None:
    path = namespace.replace("/api/", "/apis/policy/") + "/poddisruptionbudgets"
    body = {"metadata": {"name": "long"}, "spec": {"minAvailable": f"{percentage}%"}}
    reply = await api.post(path, body)
    assert reply.status == (422 if refused else 201)
    if refused:
        assert reply.message.endswith('%": must not be greater than 100%')
