"""Questions about rights: who may what (authorization.k8s.io). Nothing of them is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mco.apiserver import errors
from mco.apiserver.auth.authorize import reason_of
from mco.apiserver.auth.rules import Attributes, Rule, rules_of
from mco.apiserver.auth.user import User
from mco.apiserver.core import Core
from mco.apiserver.errors import Cause
from mco.apiserver.http.bodies import decode_body
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import Answer, encode
from mco.apiserver.registry.served import Served
from mco.apiserver.writes import pipeline

Obj = dict[str, Any]

SELF, OTHER, LOCAL = "SelfSubjectAccessReview", "SubjectAccessReview", "LocalSubjectAccessReview"
RULES = "SelfSubjectRulesReview"
WHO = "SelfSubjectReview"
GROUPS = ("authentication.k8s.io", "authorization.k8s.io")


async def review(core: Core, served: Served, request: Request) -> Answer:
    body = pipeline.identify(served, await decode_body(request), request.target.namespace)
    spec = body.get("spec") or {}
    answer: Obj = {**_head(served), "spec": spec}
    if served.kind == WHO:
        return encode({**_head(served), "status": {"userInfo": _who(request.user)}}, 201)
    if served.kind == RULES:
        return encode({**answer, "status": _rules(core, request.user, spec.get("namespace", ""))}, 201)
    if causes := _causes(served, spec):
        raise errors.invalid(served.kind, served.group, "", causes)
    user = request.user
    if served.kind != SELF:
        user = User(spec.get("user") or "", frozenset(spec.get("groups") or ()))
    asked = _asked(spec)
    why = core.roles.reason(user, asked) or reason_of(core.roles, user, asked)
    status: Obj = {"allowed": bool(why)}
    if why.startswith("RBAC"):
        status["reason"] = why
    return encode({**answer, "status": status}, 201)


def _head(served: Served) -> Obj:
    return {"kind": served.kind, "apiVersion": served.api_version, "metadata": {}}


def _who(user: User) -> Obj:
    known: Obj = {"username": user.name, "groups": sorted(user.groups)}
    if user.extra:
        known["extra"] = {name: list(values) for name, values in user.extra}
    return known


def _causes(served: Served, spec: Obj) -> list[Cause]:
    about, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    causes: list[Cause] = []
    if about is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        causes.append(errors.invalid_value("spec.nonResourceAttributes", path, detail))
    if about is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.append(errors.invalid_value("spec.resourceAttributes", None, detail))
    if served.kind != SELF and not spec.get("user") and not spec.get("groups"):
        detail = "at least one of user or group must be specified"
        causes.append(errors.invalid_value("spec.user", "", detail))
    return causes


def _asked(spec: Obj) -> Attributes:
    if (path := spec.get("nonResourceAttributes")) is not None:
        return Attributes(verb=path.get("verb", ""), path=path.get("path", ""))
    about = spec["resourceAttributes"]
    group, sub = about.get("group", ""), about.get("subresource", "")
    resource = about.get("resource", "") + (f".{group}" if group else "") + (f"/{sub}" if sub else "")
    return Attributes(
        verb=about.get("verb", ""),
        resource=resource,
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
    )


def _rules(core: Core, user: User, namespace: str) -> Obj:
    granted = [dict(grant.rule) for grant in core.roles.grants(user, namespace)]
    granted += [rule for own in rules_of(user) for rule in _spelled_out(own, namespace)]
    return {
        "resourceRules": [rule for rule in granted if rule.get("resources")],
        "nonResourceRules": [rule for rule in granted if rule.get("nonResourceURLs")],
        "incomplete": False,
    }


def _spelled_out(rule: Rule, namespace: str) -> Iterator[Obj]:
    """A built-in rule as a role would say it, one for each API group."""
    if rule.namespace not in ("", namespace):
        return
    by_group: dict[str, list[str]] = {}
    for resource in rule.resources.split():
        whole, slash, sub = resource.partition("/")
        plural, _, group = whole.partition(".")
        by_group.setdefault(group, []).append(f"{plural}{slash}{sub}")
    for group, resources in by_group.items():
        spelled = {"verbs": rule.verbs.split(), "apiGroups": [group], "resources": resources}
        yield {**spelled, "resourceNames": list(rule.names)} if rule.names else spelled
