"""Discovery, version, health, OpenAPI."""

from __future__ import annotations

import asyncio

import pytest

from tests.contract.apiserver.definitions import define, definition
from tests.contract.apiserver.endpoint import Api

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_legacy_discovery(api: Api, prefix: str) -> None:
    await define(api, definition(prefix))
    assert (await api.get("/api")).body["versions"] == ["v1"]
    groups = {group["name"]: group for group in (await api.get("/apis")).body["groups"]}
    assert groups["coordination.k8s.io"]["preferredVersion"]["groupVersion"] == "coordination.k8s.io/v1"
    assert groups[f"{prefix}.example.com"]["versions"][0]["version"] == "v1"
    core = {each["name"]: each for each in (await api.get("/api/v1")).body["resources"]}
    assert core["nodes"]["namespaced"] is False
    assert core["configmaps"]["shortNames"] == ["cm"]
    assert "watch" in core["pods"]["verbs"]
    assert (core["pods/eviction"]["kind"], core["pods/eviction"]["group"]) == ("Eviction", "policy")
    custom = (await api.get(f"/apis/{prefix}.example.com/v1")).body
    assert [each["name"] for each in custom["resources"]] == [f"{prefix}widgets", f"{prefix}widgets/status"]


async def test_aggregated_discovery(api: Api, prefix: str) -> None:
    await define(api, definition(prefix))
    reply = await api.request("GET", "/apis", accept=f"{AGGREGATED},application/json")
    assert reply.body["kind"] == "APIGroupDiscoveryList"
    assert "as=APIGroupDiscoveryList" in reply.headers["Content-Type"]
    groups = {item["metadata"]["name"]: item for item in reply.body["items"]}
    (resource,) = groups[f"{prefix}.example.com"]["versions"][0]["resources"]
    assert (resource["resource"], resource["scope"]) == (f"{prefix}widgets", "Cluster")
    assert resource["subresources"][0]["subresource"] == "status"
    core = await api.request("GET", "/api", accept=f"{AGGREGATED},application/json")
    names = {each["resource"] for each in core.body["items"][0]["versions"][0]["resources"]}
    assert {"nodes", "pods", "secrets"} <= names


async def _document(api: Api, place: str) -> str:
    """The address of a group's document, which follows its definitions a little later."""
    async with asyncio.timeout(20):
        while place not in (links := (await api.get("/openapi/v3")).body["paths"]):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return str(links[place]["serverRelativeURL"])


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health(api: Api, path: str) -> None:
    reply = await api.get(path)
    assert (reply.status, reply.body) == (200, b"ok")


async def test_version(api: Api) -> None:
    body = (await api.get("/version")).body
    assert body["major"] == "1"
    assert body["gitVersion"].startswith(f"v1.{body['minor']}")


async def test_openapi_describes_what_is_defined(api: Api, prefix: str) -> None:
    spec = {"type": "object", "properties": {"size": {"type": "integer", "description": "How big."}}}
    await define(api, definition(prefix, spec))
    link = await _document(api, f"apis/{prefix}.example.com/v1")
    document = (await api.get(link)).body
    kind = {"group": f"{prefix}.example.com", "version": "v1", "kind": f"{prefix.capitalize()}Widget"}
    schemas = document["components"]["schemas"].values()
    (schema,) = [each for each in schemas if kind in each.get("x-kubernetes-group-version-kind", ())]
    assert schema["properties"]["spec"]["properties"]["size"]["description"] == "How big."
    patch = document["paths"][f"/apis/{prefix}.example.com/v1/{prefix}widgets/{{name}}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]


async def test_a_document_changes_its_address_with_its_content(api: Api, prefix: str) -> None:
    """Clients cache by address."""
    body = definition(prefix)
    await define(api, body)
    place = f"apis/{prefix}.example.com/v1"
    before = await _document(api, place)
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["description"] = "Changed."
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{body['metadata']['name']}"
    assert (await api.patch(path, {"spec": body["spec"]})).status == 200
    async with asyncio.timeout(20):
        while await _document(api, place) == before:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "path", ["/apis/none.example.com", "/apis/none.example.com/v1", "/api/v2", "/openapi/v3/x"]
)
async def test_what_is_not_there_is_not_discovered(api: Api, path: str) -> None:
    assert (await api.get(path)).status == 404


async def test_openapi_v2_in_json(api: Api) -> None:
    reply = await api.get("/openapi/v2")
    assert (reply.status, reply.body["swagger"], reply.body["info"]["title"]) == (200, "2.0", "Kubernetes")
