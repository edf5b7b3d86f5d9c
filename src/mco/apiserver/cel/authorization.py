"""Questions about rights in expressions: `authorizer.group('apps').resource('deployments').check('get')`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mco.apiserver.cel.values import Opaque

AUTHORIZER = "kubernetes.authorization.Authorizer"
PATH = "kubernetes.authorization.PathCheck"
GROUP = "kubernetes.authorization.GroupCheck"
RESOURCE = "kubernetes.authorization.ResourceCheck"
DECISION = "kubernetes.authorization.Decision"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """`account` is a service account, as namespace and name, None for whoever sends the request."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    account: tuple[str, str] | None = None


Ask = Callable[[Question], str]
"""Why somebody may, or the empty text."""


class Asked(msgspec.Struct, frozen=True, eq=False):
    """What is known so far, and who answers."""

    ask: Ask
    question: Question


def authorizer(ask: Ask, requested: Question) -> Opaque:
    """`requested` is what `authorizer.requestResource` is about."""
    fields = {"requestResource": Opaque(RESOURCE, Asked(ask, requested))}
    return Opaque(AUTHORIZER, Asked(ask, Question()), fields=fields)


def _with(value: Opaque, kind: str, **more: Any) -> Opaque:
    question = msgspec.structs.replace(value.content.question, **more)
    return Opaque(kind, Asked(value.content.ask, question))


def service_account(value: Opaque, namespace: str, name: str) -> Opaque:
    return _with(value, AUTHORIZER, account=(namespace, name))


def path(value: Opaque, text: str) -> Opaque:
    return _with(value, PATH, path=text)


def group(value: Opaque, text: str) -> Opaque:
    return _with(value, GROUP, group=text)


def resource(value: Opaque, text: str) -> Opaque:
    return _with(value, RESOURCE, resource=text)


def subresource(value: Opaque, text: str) -> Opaque:
    return _with(value, RESOURCE, subresource=text)


def namespace(value: Opaque, text: str) -> Opaque:
    return _with(value, RESOURCE, namespace=text)


def name(value: Opaque, text: str) -> Opaque:
    return _with(value, RESOURCE, name=text)


def selected(value: Opaque, _selector: str) -> Opaque:
    """Roles know no selectors: with one and without one the answer is the same."""
    return value


def check(value: Opaque, verb: str) -> Opaque:
    asked = value.content
    return Opaque(DECISION, asked.ask(msgspec.structs.replace(asked.question, verb=verb)))


def allowed(value: Opaque) -> bool:
    return bool(value.content)


def reason(value: Opaque) -> str:
    """Roles have reasons, built-in rules have none."""
    text: str = value.content
    return text if text.startswith("RBAC") else ""


def error(_value: Opaque) -> str:
    return ""


def errored(_value: Opaque) -> bool:
    return False
