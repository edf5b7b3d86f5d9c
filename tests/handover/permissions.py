"""Permissions of a leader that come and go."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from mco.api import names
from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.kube.client import Client

_RBAC = "rbac.authorization.k8s.io"
ROLES: Resource[Object] = Resource(_RBAC, "v1", "roles", "Role", Object, True)
ROLE_BINDINGS: Resource[Object] = Resource(_RBAC, "v1", "rolebindings", "RoleBinding", Object, True)
RULES = [
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "watch", "create", "patch"],
    }
]


@contextlib.asynccontextmanager
async def permitted(admin: Client, user: str) -> AsyncIterator[Callable[[bool], Awaitable[None]]]:
    """`user` may lead; `allow(False)` takes that away, and comes back when the server knows."""
    metadata = {"name": "leader"}
    await admin.create(ROLES, {"metadata": metadata, "rules": RULES}, namespace=names.NAMESPACE)
    binding = {
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": "leader"},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
    }
    await admin.create(ROLE_BINDINGS, binding, namespace=names.NAMESPACE)

    async def allow(allowed: bool) -> None:
        await admin.patch(ROLES, "leader", {"rules": RULES if allowed else []}, namespace=names.NAMESPACE)

    try:
        yield allow
    finally:
        for res in (ROLES, ROLE_BINDINGS):
            await admin.delete(res, "leader", namespace=names.NAMESPACE)
