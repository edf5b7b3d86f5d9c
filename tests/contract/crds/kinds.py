"""Our kinds in a group of the tests, and what becomes of an object on the way through a case's steps."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence

from mco.api.crds import definitions
from mco.api.schema import free
from tests.contract.apiserver.definitions import CRDS, define
from tests.contract.apiserver.endpoint import Api, Body, Reply
from tests.contract.crds.cases import Case, Step, value_at

GROUP = "crds.example.com"
BY_KIND = {body["spec"]["names"]["kind"]: body for body in definitions()}


def definition(body: Body, group: str = GROUP) -> Body:
    """One of our definitions in another group, without its short names, which kubectl would find twice."""
    body = copy.deepcopy(body)
    body["spec"]["names"].pop("shortNames", None)
    body["metadata"]["name"] = f"{body['spec']['names']['plural']}.{group}"
    body["spec"]["group"] = group
    return body


def collection(case: Case, group: str = GROUP) -> str:
    """The path of the case's objects."""
    return f"/apis/{group}/{case.version}/{BY_KIND[case.kind]['spec']['names']['plural']}"


async def walk(api: Api, case: Case, steps: Sequence[Step], group: str = GROUP) -> None:
    """Goes through the steps, and removes the object; a single creation needs not be stored."""
    path = collection(case, group)
    if len(steps) == 1 and steps[0].verb == "create":
        judge(steps[0], await _take(api, path, case, steps[0], group, dryRun="All"))
        return
    try:
        for step in steps:
            judge(step, await _take(api, path, case, step, group))
    finally:
        await api.delete(f"{path}/{case.object_name}")


def judge(step: Step, reply: Reply) -> None:
    if not step.error:
        assert reply.status in (200, 201), reply.body
        for place, value in step.expect.items():
            assert value_at(reply.body, place) == value, place
        return
    assert reply.status == 422, reply.body
    assert step.error in reply.message
    fields = [cause.get("field") for cause in reply.body["details"]["causes"]]
    assert not step.field or step.field in fields


async def _take(api: Api, path: str, case: Case, step: Step, group: str, **query: str) -> Reply:
    if step.verb == "create":
        body: Body = {
            "apiVersion": f"{group}/{case.version}",
            "kind": case.kind,
            "metadata": {"name": case.object_name},
        }
        return await api.post(path, body if step.body is None else body | {"spec": step.body}, **query)
    path = f"{path}/{case.object_name}"
    part = "status" if step.verb == "status" else "spec"
    stored = (await api.get(path)).body
    stored.pop(part, None)
    changed = stored if step.body is None else stored | {part: step.body}
    return await api.put(f"{path}/status" if part == "status" else path, changed)


async def walk_stale(api: Api, case: Case, group: str) -> None:
    """The first step meets a schema that accepts everything; before the second one, it becomes ours."""
    ours = definition(BY_KIND[case.kind], group)
    lax = copy.deepcopy(ours)
    for version in lax["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"] = free()
    path = await define(api, lax)
    try:
        judge(case.steps[0], await _take(api, path, case, case.steps[0], group))
        strict = await api.patch(f"{CRDS}/{ours['metadata']['name']}", {"spec": ours["spec"]})
        assert strict.status == 200, strict.body
        async with asyncio.timeout(20):
            while not await _refuses(api, path, case, group):
                pass
        await walk(api, case, case.steps[1:], group)
    finally:
        await api.delete(f"{CRDS}/{ours['metadata']['name']}")


async def _refuses(api: Api, path: str, case: Case, group: str) -> bool:
    """Whether the new schema is in force: what the first step created could not be created any more."""
    body = {"apiVersion": f"{group}/{case.version}", "kind": case.kind, "metadata": {"name": "x"}}
    spec = case.steps[0].body
    return (await api.post(path, body | {"spec": spec}, dryRun="All")).status == 422
