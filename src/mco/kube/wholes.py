"""Objects of any kind, whole and as plain JSON: for what applies manifests and knows no types.

Which path serves a kind is asked of the server (discovery) and remembered; a kind that is not there yet is
asked for again, because a CustomResourceDefinition may just bring it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.base.errors import NotFound
from mco.kube import requests
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.requests import PatchKind


class _Entry(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool = False


class _Entries(msgspec.Struct):
    resources: list[_Entry] | None = None


class NoSuchKind(NotFound):
    """The server does not serve this kind."""


class Wholes:
    """Bodies name their kind and themselves; every method raises NoSuchKind and what the client raises."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str], Resource[Object]] = {}

    async def get(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The object as the cluster has it; None when it is not there."""
        try:
            return _decode(await self._client.request("GET", await self._path(body)))
        except NotFoundError:
            return None

    async def create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        resource = await self.resource(body)
        path = requests.path(resource, namespace=_namespace(resource, body))
        return _decode(await self._client.request("POST", path, body=body))

    async def patch(self, body: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """A merge patch."""
        path = await self._path(body)
        return _decode(
            await self._client.request("PATCH", path, body=changes, content_type=PatchKind.MERGE)
        )  # fmt: skip

    async def delete(self, body: Mapping[str, Any], propagation: str = "Background") -> None:
        """`Foreground`: the object stays until what it owns is gone."""
        options = requests.delete_options("", "", propagation)
        await self._client.request("DELETE", await self._path(body), body=options)

    async def resource(self, body: Mapping[str, Any]) -> Resource[Object]:
        api_version, kind = str(body["apiVersion"]), str(body["kind"])
        if (api_version, kind) not in self._known:
            await self._discover(api_version)
        found = self._known.get((api_version, kind))
        if found is None:
            raise NoSuchKind(
                f'no matches for kind "{kind}" in version "{api_version}"',
                subject=f"{kind}/{body['metadata']['name']}",
                hint="its CustomResourceDefinition has to be installed first",
            )
        return found

    async def _discover(self, api_version: str) -> None:
        group, _, version = api_version.rpartition("/")
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            raw = await self._client.request("GET", root)
        except NotFoundError:
            return
        for entry in msgspec.json.decode(raw, type=_Entries).resources or ():
            if "/" not in entry.name:
                found = Resource(group, version, entry.name, entry.kind, Object, entry.namespaced)
                self._known[api_version, entry.kind] = found

    async def _path(self, body: Mapping[str, Any]) -> str:
        resource = await self.resource(body)
        return requests.path(resource, body["metadata"]["name"], _namespace(resource, body))


def _namespace(resource: Resource[Object], body: Mapping[str, Any]) -> str:
    return body["metadata"].get("namespace") or "default" if resource.namespaced else ""


def _decode(raw: bytes) -> dict[str, Any]:
    return msgspec.json.decode(raw, type=dict[str, Any])
