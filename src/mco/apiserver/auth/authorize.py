"""May they: asks the rules, and words a refusal."""

from __future__ import annotations

from mco.apiserver import errors
from mco.apiserver.auth.rules import Attributes, allowed
from mco.apiserver.auth.user import User
from mco.apiserver.http.request import Request, Target
from mco.apiserver.watch.selection import parse_fields


def require(request: Request) -> None:
    """Raises StatusError 403, or 401 for somebody whom the server does not know at all."""
    if allowed(request.user, attributes_of(request)):
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
