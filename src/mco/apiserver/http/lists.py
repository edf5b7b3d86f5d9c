"""List: whole, or in pages of one consistent revision."""

from __future__ import annotations

from typing import Any

from mco.apiserver import errors
from mco.apiserver.core import Core
from mco.apiserver.http import show
from mco.apiserver.http.options import Continue, continue_of, form_of, number, selection_of
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import Answer
from mco.apiserver.registry.served import Served
from mco.apiserver.store.revision import Revision
from mco.apiserver.store.store import Compacted
from mco.apiserver.watch.selection import Selection, View

PAGE = 500

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter."
)


def list_objects(core: Core, served: Served, request: Request) -> Answer:
    selection, form = selection_of(request, served), form_of(request)
    limit, start = number(request, "limit"), continue_of(request)
    at = start.rv if start else _revision_of(core, request)
    try:
        found, revision, following = collect(core, served, selection, limit=limit, start=start, at=at)
    except Compacted as error:
        raise errors.expired(_TOO_OLD if start else _gone(at)) from error
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if following:
        metadata["continue"] = following.encode()
        if not selection.labels.requirements and not selection.fields:
            left = core.store.count(
                served.resource, selection.namespace, (following.namespace, following.name)
            )
            metadata["remainingItemCount"] = left
    body = show.many(served, [item.data for item in found], metadata, form, core.now())
    return Answer(body=body)


def collect(
    core: Core,
    served: Served,
    selection: Selection,
    *,
    limit: int = 0,
    start: Continue | None = None,
    at: int = 0,
) -> tuple[list[Revision], int, Continue | None]:
    """Objects of a selection, the revision that they are of, and where a next page begins."""
    if selection.name and (selection.namespace or not served.namespaced) and not start and not at:
        return _single(core, served, selection)
    found: list[Revision] = []
    after = (start.namespace, start.name) if start else ("", "")
    while True:
        size = limit or -1
        page = core.store.page(served.resource, selection.namespace, after=after, limit=size, at=at)
        at = page.number
        for index, revision in enumerate(page.revisions):
            if not selection.matches(View(revision.key, revision.data)):
                continue
            found.append(revision)
            if limit and len(found) == limit:
                rest = page.more or index + 1 < len(page.revisions)
                key = revision.key
                return found, at, Continue(at, key.namespace, key.name) if rest else None
        if not page.more:
            return found, at, None
        after = (page.revisions[-1].key.namespace, page.revisions[-1].key.name)


def _single(core: Core, served: Served, selection: Selection) -> tuple[list[Revision], int, Continue | None]:
    """Thousands of nodes each list and watch themselves: a point query, not a walk over all of them."""
    number = core.store.current()
    revision = core.store.get(served.key(selection.namespace, selection.name))
    if revision is None or not selection.matches(View(revision.key, revision.data)):
        return [], number, None
    return [revision], max(number, revision.number), None


def _revision_of(core: Core, request: Request) -> int:
    """The exact revision that a list must be of; 0 when any recent one will do."""
    wanted, match = number(request, "resourceVersion"), request.query.get("resourceVersionMatch", "")
    current = core.store.current()
    if wanted > current:
        raise errors.too_new(wanted, current)
    if match not in ("", "Exact", "NotOlderThan"):
        cause = errors.not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan"))
        raise errors.invalid("ListOptions", "meta.k8s.io", "", [cause])
    if match and not request.query.get("resourceVersion"):
        detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        cause = errors.forbidden_field("resourceVersionMatch", detail)
        raise errors.invalid("ListOptions", "meta.k8s.io", "", [cause])
    exact = match == "Exact" or (not match and number(request, "limit") and wanted)
    return wanted if exact else 0


def _gone(at: int) -> str:
    return f"The resourceVersion for the provided list is too old: {at}"
