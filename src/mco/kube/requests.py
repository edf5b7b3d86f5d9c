"""What is asked, as values: every request of the client is built here, without a socket in sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import msgspec

from mco.api.resources import Resource
from mco.base.errors import InvalidInput

JSON_TYPE = "application/json"


class PatchKind(StrEnum):
    """The values are the content types. Our own writers use MERGE, or JSON with a `test` where others move
    the object; APPLY needs a real API server."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """`path` starts with `/`; `subject` names the object in errors and logs."""

    method: str
    path: str
    params: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    content_type: str = JSON_TYPE
    subject: str = ""

    @property
    def reads(self) -> bool:
        """Whether it can be repeated at will and needs no leadership."""
        return self.method in ("GET", "HEAD", "OPTIONS")


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of a resource; empty texts select everything."""

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""


def path(res: Resource[Any], name: str = "", namespace: str = "", subresource: str = "") -> str:
    """The URL path, every piece of it quoted: a name from outside never reaches another object."""
    if name in (".", "..") or namespace in (".", ".."):
        raise InvalidInput(f'"{name or namespace}" is not a name', subject=f"{res.kind}/{name}")
    return res.path(quote(name, safe=""), namespace=quote(namespace, safe=""), subresource=subresource)


def one(
    method: str,
    res: Resource[Any],
    name: str,
    *,
    namespace: str = "",
    subresource: str = "",
    body: Any = None,
    content_type: str = JSON_TYPE,
    params: Mapping[str, str] | None = None,
) -> Request:
    """A request about one named object. Raises InvalidInput for an empty name, which would mean the
    collection."""
    if not name:
        raise InvalidInput(f"the name of the {res.kind} is empty")
    if res.namespaced and not namespace:
        raise InvalidInput(f"the namespace of {res.kind} {name} is empty", subject=f"{res.kind}/{name}")
    return Request(
        method=method,
        path=path(res, name, namespace, subresource),
        params=tuple((params or {}).items()),
        body=None if body is None else encode(body),
        content_type=content_type,
        subject=subject(res, name, namespace),
    )


def create(
    res: Resource[Any], body: Mapping[str, Any], namespace: str = "", *, name: str = "", subresource: str = ""
) -> Request:
    """A POST of `body`, completed with the resource's kind where it names none."""
    whole = {"apiVersion": res.api_version, "kind": res.kind, **body} if not subresource else body
    named = name or str(body.get("metadata", {}).get("name", ""))
    return Request(
        method="POST",
        path=path(res, name, namespace, subresource),
        body=encode(whole),
        subject=subject(res, named, namespace),
    )


def list_page(res: Resource[Any], selection: Selection, *, limit: int = 0, token: str = "") -> Request:
    """One page of a list. `token` is the `continue` of the page before."""
    params = _select(selection)
    if limit:
        params.append(("limit", str(limit)))
    if token:
        params.append(("continue", token))
    return Request(
        method="GET",
        path=path(res, namespace=selection.namespace),
        params=tuple(params),
        subject=res.plural,
    )


class WatchFrom(msgspec.Struct, frozen=True, kw_only=True):
    """Where a watch starts and how long it lasts. `initial_events` asks for the present objects first
    (WatchList); the server then ends a watch after `timeout` seconds by itself."""

    resource_version: str = ""
    timeout: int = 0
    bookmarks: bool = True
    initial_events: bool = False


def watch(res: Resource[Any], selection: Selection, start: WatchFrom) -> Request:
    params = [("watch", "true"), *_select(selection)]
    if start.resource_version:
        params.append(("resourceVersion", start.resource_version))
    if start.bookmarks:
        params.append(("allowWatchBookmarks", "true"))
    if start.initial_events:
        params += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
    if start.timeout:
        params.append(("timeoutSeconds", str(start.timeout)))
    return Request(
        method="GET",
        path=path(res, namespace=selection.namespace),
        params=tuple(params),
        subject=res.plural,
    )


def delete_options(resource_version: str, uid: str, propagation: str) -> dict[str, Any] | None:
    """The body of a DELETE, or None when nothing is demanded."""
    preconditions = {k: v for k, v in (("resourceVersion", resource_version), ("uid", uid)) if v}
    options: dict[str, Any] = {}
    if preconditions:
        options["preconditions"] = preconditions
    if propagation:
        options["propagationPolicy"] = propagation
    return {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None


def subject(res: Resource[Any], name: str, namespace: str = "") -> str:
    """How an object is called in errors: `Node/w1`, `Lease/kube-node-lease/w1`."""
    return "/".join(filter(None, (res.kind, namespace, name)))


def encode(body: Mapping[str, Any] | Sequence[Any]) -> bytes:
    return msgspec.json.encode(body)


def _select(selection: Selection) -> list[tuple[str, str]]:
    params = []
    if selection.label_selector:
        params.append(("labelSelector", selection.label_selector))
    if selection.field_selector:
        params.append(("fieldSelector", selection.field_selector))
    return params
