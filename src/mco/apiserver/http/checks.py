"""What a request may ask for: parameters that make no sense together are refused, as the real server does.

Every parameter that is wrong is one cause of a 422 about the options, not about an object.
"""

from __future__ import annotations

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.http.request import Request

_GROUP = "meta.k8s.io"
_MATCH = "resourceVersionMatch"
_VALIDATION = ("", "Ignore", "Strict", "Warn")
_MANAGER_LIMIT = 128
_WRITES = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


def check_list(request: Request) -> None:
    """Raises StatusError 422, or 400 for a page of another revision."""
    query = request.query
    asked, match, token = query.get("resourceVersion", ""), query.get(_MATCH, ""), query.get("continue", "")
    causes: list[Cause] = []
    if "sendInitialEvents" in query:
        causes.append(errors.forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if match and not asked:
        detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        causes.append(errors.forbidden_field(_MATCH, detail))
    if match and token:
        detail = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(errors.forbidden_field(_MATCH, detail))
    if match not in ("", "Exact", "NotOlderThan"):
        causes.append(errors.not_supported(_MATCH, match, ("Exact", "NotOlderThan")))
    if match == "Exact" and asked == "0":
        detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes.append(errors.forbidden_field(_MATCH, detail))
    _refuse("ListOptions", causes)
    if token and asked not in ("", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")


def check_watch(request: Request) -> None:
    """Raises StatusError 422."""
    match, initial = request.query.get(_MATCH, ""), "sendInitialEvents" in request.query
    causes: list[Cause] = []
    if match and not initial:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(errors.forbidden_field(_MATCH, detail))
    if initial and not match:
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(errors.forbidden_field(_MATCH, detail))
    elif initial and match != "NotOlderThan":
        causes.append(errors.not_supported(_MATCH, match, ("NotOlderThan",)))
    _refuse("ListOptions", causes)


def check_write(request: Request) -> bool:
    """Whether the write is a dry run. Raises StatusError 422."""
    query = request.query
    dry_run = query.getlist("dryRun")
    causes = _dry_run(dry_run)
    validation, manager = query.get("fieldValidation", ""), query.get("fieldManager", "")
    if validation not in _VALIDATION:
        causes.append(errors.not_supported("fieldValidation", validation, _VALIDATION))
    if len(manager.encode()) > _MANAGER_LIMIT:
        causes.append(errors.too_long("fieldManager", _MANAGER_LIMIT))
    _refuse(_WRITES.get(request.target.verb, "DeleteOptions"), causes)
    return bool(dry_run)


def check_delete(policy: str | None, orphans: bool | None, dry_run: list[str]) -> None:
    """Raises StatusError 422."""
    causes = _dry_run(dry_run)
    if policy is not None and orphans is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(errors.invalid_value("propagationPolicy", policy, detail))
    if policy not in (None, "", "Foreground", "Background", "Orphan"):
        known = ("Foreground", "Background", "Orphan", "nil")
        causes.append(errors.not_supported("propagationPolicy", policy, known))
    _refuse("DeleteOptions", causes)


def _dry_run(wanted: list[str]) -> list[Cause]:
    return [] if wanted in ([], ["All"]) else [errors.not_supported("dryRun", wanted, ("All",))]


def _refuse(kind: str, causes: list[Cause]) -> None:
    if causes:
        raise errors.invalid(kind, _GROUP, "", causes)
