"""May they: rules as data."""

from __future__ import annotations

from mco.apiserver import errors
from mco.apiserver.auth.user import MASTERS, User
from mco.apiserver.http.request import Request


class Authorizer:
    def require(self, user: User, request: Request) -> None:
        if MASTERS in user.groups or user.name.startswith("system:mco:"):
            return
        if request.target.path in ("/healthz", "/livez", "/readyz", "/version"):
            return
        if user.anonymous:
            raise errors.unauthorized()
        raise errors.forbidden(request.target.resource, request.target.group, request.target.name, "")
