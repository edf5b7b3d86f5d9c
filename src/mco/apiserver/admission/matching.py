"""Is a request one that a policy or a binding is about (MatchResources)?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api.meta.objects import LabelSelector
from mco.api.meta.selectors import selector

Obj = dict[str, Any]

ANY = "*"


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A write, as policies see it. `new` is None for a deletion, `old` for a creation; `namespace_object` is
    the Namespace that the object is in, None at the cluster scope."""

    operation: str
    group: str
    version: str
    resource: str
    kind: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    new: Obj | None = None
    old: Obj | None = None
    namespace_object: Obj | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, list[str]] = msgspec.field(default_factory=dict)
    uid: str = ""
    dry_run: bool = False


def matches(resources: Mapping[str, Any], review: Review) -> bool:
    """Whether the constraints take the request in; without any rule every resource is meant."""
    rules = resources.get("resourceRules") or ()
    if rules and not any(_rule(rule, review) for rule in rules):
        return False
    if any(_rule(rule, review) for rule in resources.get("excludeResourceRules") or ()):
        return False
    return _namespace(resources, review) and _objects(resources, review)


def _rule(rule: Mapping[str, Any], review: Review) -> bool:
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("operations"), review.operation)
        and _has(rule.get("apiGroups"), review.group)
        and (_has(rule.get("apiVersions"), review.version))
        and any(_covers(pattern, review) for pattern in rule.get("resources") or ())
        and rule.get("scope", ANY) in (ANY, "Namespaced" if review.namespace else "Cluster")
        and (not names or review.name in names)
    )


def _has(values: Any, value: str) -> bool:
    return ANY in (values or ()) or value in (values or ())


def _covers(pattern: str, review: Review) -> bool:
    """`pods`, `pods/status`, `pods/*`, `*/status`, `*` (no subresources), `*/*`."""
    resource, _, subresource = pattern.partition("/")
    return resource in (ANY, review.resource) and (subresource == review.subresource or (subresource == ANY))


def _namespace(resources: Mapping[str, Any], review: Review) -> bool:
    wanted = resources.get("namespaceSelector")
    if not wanted:
        return True
    if review.group == "" and review.resource == "namespaces":
        labels = _labels(review.new or review.old)
    elif review.namespace_object is None:
        return True
    else:
        labels = _labels(review.namespace_object)
    return _selects(wanted, labels)


def _objects(resources: Mapping[str, Any], review: Review) -> bool:
    wanted = resources.get("objectSelector")
    if not wanted:
        return True
    return any(_selects(wanted, _labels(obj)) for obj in (review.new, review.old) if obj is not None)


def _selects(wanted: Any, labels: Mapping[str, str]) -> bool:
    return selector(msgspec.convert(wanted, LabelSelector)).matches(labels)


def _labels(obj: Obj | None) -> Mapping[str, str]:
    return ((obj or {}).get("metadata") or {}).get("labels") or {}
