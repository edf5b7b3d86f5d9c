"""Discovery: which groups, versions and resources there are, in the legacy and in the aggregated form."""

from __future__ import annotations

from typing import Any

from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import Answer, encode
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.registry.served import Served, Subresource

Obj = dict[str, Any]

_AGGREGATED = "apidiscovery.k8s.io"


def discover(catalog: Catalog, request: Request) -> Answer | None:
    """The answer for `/api`, `/apis` and what is below them; None for a path that is not there."""
    parts = [part for part in request.target.path.split("/") if part]
    match parts:
        case ["api"]:
            if version := _aggregated(request):
                return _aggregate(catalog, version, legacy=True)
            return encode({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        case ["apis"]:
            if version := _aggregated(request):
                return _aggregate(catalog, version, legacy=False)
            groups = [_group(name, versions) for name, versions in catalog.groups().items() if name]
            return encode({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        case ["apis", group]:
            versions = catalog.groups().get(group)
            if not versions:
                return None
            return encode({"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)})
        case ["api", version]:
            return _resources(catalog, "", version)
        case ["apis", group, version]:
            return _resources(catalog, group, version)
        case _:
            return None


def _group(name: str, versions: list[str]) -> Obj:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resources(catalog: Catalog, group: str, version: str) -> Answer | None:
    found = [served for served in catalog if (served.group, served.version) == (group, version)]
    if not found:
        return None
    resources: list[Obj] = []
    for served in found:
        entry: Obj = {
            "name": served.plural,
            "singularName": served.singular,
            "namespaced": served.namespaced,
            "kind": served.kind,
            "verbs": list(served.verbs),
        }
        if served.short_names:
            entry["shortNames"] = list(served.short_names)
        if served.categories:
            entry["categories"] = list(served.categories)
        resources.append(entry)
        resources += [_legacy_subresource(served, each) for each in served.subresources]
    body = {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": found[0].api_version,
        "resources": resources,
    }
    return encode(body)


def _legacy_subresource(served: Served, subresource: Subresource) -> Obj:
    entry: Obj = {
        "name": f"{served.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": list(subresource.verbs),
    }
    if subresource.kind:
        entry["group"], entry["version"], entry["kind"] = subresource.kind
    return entry


def _aggregated(request: Request) -> str:
    """The version of the aggregated form that the client prefers, or the empty text."""
    for clause in request.headers.get("accept", "").split(","):
        parameters = dict(part.strip().split("=", 1) for part in clause.split(";")[1:] if "=" in part)
        if parameters.get("g") == _AGGREGATED and parameters.get("as") == "APIGroupDiscoveryList":
            version = parameters.get("v", "")
            if version in ("v2", "v2beta1"):
                return version
    return ""


def _aggregate(catalog: Catalog, version: str, *, legacy: bool) -> Answer:
    items = []
    for name, versions in catalog.groups().items():
        if bool(name) is legacy:
            continue
        described = [_described(catalog, name, each) for each in versions]
        items.append({"metadata": {"name": name} if name else {}, "versions": described})
    body = {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{_AGGREGATED}/{version}",
        "metadata": {},
        "items": items,
    }
    media = f"application/json;g={_AGGREGATED};v={version};as=APIGroupDiscoveryList"
    answer = encode(body)
    return Answer(body=answer.body, content_type=media)


def _described(catalog: Catalog, group: str, version: str) -> Obj:
    resources = [_entry(s) for s in catalog if (s.group, s.version) == (group, version)]
    return {"version": version, "resources": resources, "freshness": "Current"}


def _entry(served: Served) -> Obj:
    kind = {"group": served.group, "version": served.version, "kind": served.kind}
    entry: Obj = {
        "resource": served.plural,
        "responseKind": kind,
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    if served.subresources:
        entry["subresources"] = [
            {
                "subresource": each.name,
                "responseKind": _response_kind(each) or kind,
                "verbs": list(each.verbs),
            }
            for each in served.subresources
        ]
    return entry


def _response_kind(subresource: Subresource) -> Obj | None:
    if subresource.kind is None:
        return None
    return dict(zip(("group", "version", "kind"), subresource.kind, strict=True))
