"""Rights that Roles and ClusterRoles grant through bindings, beside the built-in rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mco.apiserver.auth.bootstrap import GROUP
from mco.apiserver.auth.rules import ANY, Attributes
from mco.apiserver.auth.user import User
from mco.apiserver.store.revision import Change, Revision
from mco.apiserver.store.store import Store

Obj = dict[str, Any]
PolicyRule = Mapping[str, Any]

KINDS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
_ACCOUNT = "system:serviceaccount:"


class Grant(msgspec.Struct, frozen=True):
    """A rule that somebody has, and by what."""

    rule: PolicyRule
    reason: str


class Roles:
    """Kept in step with the store by `observe`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, dict[tuple[str, str], Obj]] = {kind: {} for kind in KINDS}

    def load(self) -> None:
        for kind in KINDS:
            for revision in self._store.page(f"{kind}.{GROUP}").revisions:
                self.observe(revision)

    def observe(self, revision: Revision) -> None:
        kind, _, group = revision.key.resource.partition(".")
        if group != GROUP or kind not in self._known:
            return
        place = (revision.key.namespace, revision.key.name)
        self._known[kind].pop(place, None)
        if revision.change is not Change.DELETED:
            self._known[kind][place] = msgspec.json.decode(revision.data)

    def reason(self, user: User, asked: Attributes) -> str:
        """Why the user may, or the empty text."""
        for grant in self.grants(user, asked.namespace):
            if rule_allows(grant.rule, asked):
                return grant.reason
        return ""

    def grants(self, user: User, namespace: str) -> Iterator[Grant]:
        for binding in self._known["clusterrolebindings"].values():
            yield from self._of_binding(binding, user, "", "ClusterRoleBinding")
        if not namespace:
            return
        for (where, _), binding in self._known["rolebindings"].items():
            if where == namespace:
                yield from self._of_binding(binding, user, namespace, "RoleBinding")

    def _of_binding(self, binding: Obj, user: User, namespace: str, kind: str) -> Iterator[Grant]:
        subject = next((s for s in binding.get("subjects") or () if _is(s, user, namespace)), None)
        if subject is None:
            return
        ref, name = binding["roleRef"], binding["metadata"]["name"]
        shown = f"{name}/{namespace}" if namespace else name
        whom = f'{subject["kind"]} "{_subject_name(subject, namespace)}"'
        reason = f'RBAC: allowed by {kind} "{shown}" of {ref["kind"]} "{ref["name"]}" to {whom}'
        for rule in self.rules(ref, namespace):
            yield Grant(rule, reason)

    def rules(self, ref: Mapping[str, Any], namespace: str) -> list[PolicyRule]:
        """Of the role that is referred to; a missing one has none."""
        if ref["kind"] == "ClusterRole":
            role = self._known["clusterroles"].get(("", ref["name"]))
        else:
            role = self._known["roles"].get((namespace, ref["name"]))
        return list((role or {}).get("rules") or ())


def _is(subject: Mapping[str, Any], user: User, namespace: str) -> bool:
    match subject["kind"]:
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case "ServiceAccount":
            account = f"{subject.get('namespace') or namespace}:{subject['name']}"
            return user.name == f"{_ACCOUNT}{account}"
    return False


def _subject_name(subject: Mapping[str, Any], namespace: str) -> str:
    if subject["kind"] != "ServiceAccount":
        return str(subject["name"])
    return f"{subject['name']}/{subject.get('namespace') or namespace}"


def rule_allows(rule: PolicyRule, asked: Attributes) -> bool:
    if not _has(rule.get("verbs"), asked.verb):
        return False
    if not asked.resource:
        return any(_path(pattern, asked.path) for pattern in rule.get("nonResourceURLs") or ())
    whole, _, subresource = asked.resource.partition("/")
    plural, _, group = whole.partition(".")
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("apiGroups"), group)
        and any(_resource(pattern, plural, subresource) for pattern in rule.get("resources") or ())
        and (not names or (asked.name or asked.selected) in names)
    )


def _has(values: Any, value: str) -> bool:
    return ANY in (values or ()) or value in (values or ())


def _resource(pattern: str, plural: str, subresource: str) -> bool:
    """`pods`, `pods/status`, `*/status`, or `*`, which are all with their subresources."""
    combined = f"{plural}/{subresource}" if subresource else plural
    return pattern in (ANY, combined) or (bool(subresource) and pattern == f"*/{subresource}")


def _path(pattern: str, path: str) -> bool:
    return pattern in (ANY, path) or (pattern.endswith("*") and path.startswith(pattern[:-1]))


def parts(rule: PolicyRule) -> Iterator[Attributes]:
    """The single rights that a rule grants; a wildcard stands for itself."""
    for verb in rule.get("verbs") or ():
        for path in rule.get("nonResourceURLs") or ():
            yield Attributes(verb=verb, path=path)
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                plural, slash, sub = resource.partition("/")
                whole = (f"{plural}.{group}" if group else plural) + slash + sub
                for name in rule.get("resourceNames") or ("",):
                    yield Attributes(verb=verb, resource=whole, name=name)
