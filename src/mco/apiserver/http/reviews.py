"""Questions about rights: who may what (authorization.k8s.io). Nothing of them is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

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


class _Resource(msgspec.Struct):
    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Path(msgspec.Struct):
    verb: str = ""
    path: str = ""


class _Question(msgspec.Struct, rename="camel"):
    """The spec of any of the kinds; each has some of the fields."""

    user: str = ""
    groups: list[str] | None = None
    namespace: str = ""
    resource_attributes: _Resource | None = None
    non_resource_attributes: _Path | None = None


async def review(core: Core, served: Served, request: Request) -> Answer:
    body = pipeline.identify(served, await decode_body(request), request.target.namespace)
    spec = body.get("spec") or {}
    answer: Obj = {**_head(served), "spec": spec}
    question = _question(served, spec)
    if served.kind == WHO:
        return encode({**_head(served), "status": {"userInfo": _who(request.user)}}, 201)
    if served.kind == RULES:
        return encode({**answer, "status": _rules(core, request.user, question.namespace)}, 201)
    if causes := _causes(served, question, spec):
        raise errors.invalid(served.kind, served.group, "", causes)
    user = request.user
    if served.kind != SELF:
        user = User(question.user, frozenset(question.groups or ()))
    asked = _asked(question)
    why = core.roles.reason(user, asked) or reason_of(core.roles, user, asked)
    status: Obj = {"allowed": bool(why)}
    if why.startswith("RBAC"):
        status["reason"] = why
    return encode({**answer, "status": status}, 201)


def _question(served: Served, spec: Any) -> _Question:
    """Raises StatusError 400."""
    try:
        return msgspec.convert(spec, _Question)
    except msgspec.ValidationError as error:
        raise errors.bad_request(
            f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}: {error}'
        ) from error


def _head(served: Served) -> Obj:
    return {"kind": served.kind, "apiVersion": served.api_version, "metadata": {}}


def _who(user: User) -> Obj:
    known: Obj = {"username": user.name, "groups": sorted(user.groups)}
    if user.extra:
        known["extra"] = {name: list(values) for name, values in user.extra}
    return known


def _causes(served: Served, question: _Question, spec: Obj) -> list[Cause]:
    about, path = question.resource_attributes, question.non_resource_attributes
    causes: list[Cause] = []
    if about is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        shown = spec["nonResourceAttributes"]
        causes.append(errors.invalid_value("spec.nonResourceAttributes", shown, detail))
    if about is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.append(errors.invalid_value("spec.resourceAttributes", None, detail))
    if served.kind != SELF and not question.user and not question.groups:
        detail = "at least one of user or group must be specified"
        causes.append(errors.invalid_value("spec.user", "", detail))
    return causes


def _asked(question: _Question) -> Attributes:
    if (path := question.non_resource_attributes) is not None:
        return Attributes(verb=path.verb, path=path.path)
    about = question.resource_attributes
    assert about is not None
    group = f".{about.group}" if about.group else ""
    sub = f"/{about.subresource}" if about.subresource else ""
    return Attributes(
        verb=about.verb,
        resource=f"{about.resource}{group}{sub}",
        namespace=about.namespace,
        name=about.name,
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
