"""May they: asks the rules, and words a refusal."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.auth.bootstrap import GROUP
from mco.apiserver.auth.roles import PolicyRule, Roles, parts
from mco.apiserver.auth.rules import Attributes, allowed
from mco.apiserver.auth.user import AUTHENTICATED, MASTERS, User, account
from mco.apiserver.cel.authorization import Question
from mco.apiserver.http.request import Request, Target
from mco.apiserver.registry.served import Served
from mco.apiserver.watch.selection import parse_fields

Obj = dict[str, Any]


def reason_of(roles: Roles, user: User, asked: Attributes) -> str:
    """Why the user may, or the empty text. What no rule and no role allows is refused."""
    return "built-in rules" if allowed(user, asked) else roles.reason(user, asked)


def answer(roles: Roles, user: User, question: Question) -> str:
    """To a question of an admission policy."""
    if question.account is not None:
        user = account(*question.account)
    if question.path:
        return reason_of(roles, user, Attributes(verb=question.verb, path=question.path))
    whole = f"{question.resource}.{question.group}" if question.group else question.resource
    asked = Attributes(
        verb=question.verb,
        resource=f"{whole}/{question.subresource}" if question.subresource else whole,
        namespace=question.namespace,
        name=question.name,
    )
    return roles.reason(user, asked) or reason_of(roles, user, asked)


def require(request: Request, roles: Roles) -> None:
    """Raises StatusError 403, or 401 for somebody whom the server does not know at all."""
    if reason_of(roles, request.user, attributes_of(request)):
        return
    if request.user.anonymous:
        raise errors.unauthorized()
    target = request.target
    if not target.resource:
        why = f'User "{request.user.name}" cannot {target.verb} path "{target.path}"'
        raise errors.StatusError(403, "Forbidden", f"forbidden: {why}")
    raise errors.forbidden(target.resource, target.group, target.name, _why(request.user, target))


def attributes_of(request: Request) -> Attributes:
    target = request.target
    if not target.resource:
        return Attributes(verb=target.verb, path=target.path)
    return Attributes(
        verb=target.verb,
        resource=_resource(target),
        namespace=target.namespace if target.resource != "namespaces" else "",
        name=target.name,
        selected=_selected(request),
    )


def _resource(target: Target) -> str:
    plural = f"{target.resource}.{target.group}" if target.group else target.resource
    return f"{plural}/{target.subresource}" if target.subresource else plural


def _selected(request: Request) -> str:
    """The only name that a list or watch can be about."""
    text = request.query.get("fieldSelector", "")
    if not text:
        return ""
    try:
        tests = parse_fields(text, lambda label: label)
    except ValueError:
        return ""
    return next((test.value for test in tests if test.path == "metadata.name" and test.equal), "")


def _why(user: User, target: Target) -> str:
    where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    name = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    return f'User "{user.name}" cannot {target.verb} resource "{name}" in API group "{target.group}" {where}'


def check_grant(user: User, served: Served, new: Obj, roles: Roles) -> None:
    """Nobody gives away what he does not have. Raises StatusError 403."""
    if served.group != GROUP or MASTERS in user.groups:
        return
    namespace = new["metadata"].get("namespace", "")
    resource, name = served.resource, new["metadata"].get("name", "")
    if served.plural.endswith("bindings"):
        ref = new["roleRef"]
        rules = roles.rules(ref, namespace)
        kind = "clusterroles" if ref["kind"] == "ClusterRole" else "roles"
        may = Attributes(verb="bind", resource=f"{kind}.{GROUP}", namespace=namespace, name=ref["name"])
    else:
        rules = list(new.get("rules") or ())
        may = Attributes(verb="escalate", resource=resource, namespace=namespace, name=name)
    if reason_of(roles, user, may):
        return
    single = ({**rule, "verbs": [verb]} for rule in rules for verb in rule.get("verbs") or ())
    missing = [rule for rule in single if not _holds(user, rule, namespace, roles)]
    if missing:
        ordered = sorted(user.groups, key=lambda group: (group == AUTHENTICATED, group))
        groups = " ".join(f'"{group}"' for group in ordered)
        shown = "\n".join(map(_shown, missing))
        why = f'user "{user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently'
        raise errors.forbidden(served.plural, served.group, name, f"{why} held:\n{shown}")
    if new.get("aggregationRule") and not all(_holds(user, rule, "", roles) for rule in _EVERYTHING):
        # It can gather anything.
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise errors.forbidden(served.plural, served.group, name, why)


_EVERYTHING: tuple[PolicyRule, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)


def _holds(user: User, rule: PolicyRule, namespace: str, roles: Roles) -> bool:
    return all(
        reason_of(roles, user, msgspec.structs.replace(part, namespace=namespace)) for part in parts(rule)
    )


def _shown(rule: PolicyRule) -> str:
    words = (
        ("apiGroups", "APIGroups"),
        ("resources", "Resources"),
        ("resourceNames", "ResourceNames"),
        ("nonResourceURLs", "NonResourceURLs"),
        ("verbs", "Verbs"),
    )
    listed = (
        f"{shown}:[{', '.join(errors.value_text(value) for value in rule[word])}]"
        for word, shown in words
        if rule.get(word)
    )
    return "{" + ", ".join(listed) + "}"
