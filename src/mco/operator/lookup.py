"""One object, or nothing where it is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.wholes import NoSuchKind, Wholes

T = TypeVar("T", bound=Object)

OPENSHIFT = "config.openshift.io/v1"
"""Where OpenShift's settings are."""


async def found(client: Client, resource: Resource[T], name: str, *, namespace: str = "") -> T | None:
    """Raises what the client raises for anything but an object that is not there."""
    try:
        return await client.get(resource, name, namespace=namespace)
    except NotFoundError:
        return None


async def setting(wholes: Wholes, kind: str, name: str = "cluster") -> Mapping[str, Any] | None:
    """A setting of OpenShift's, as builtins; None too where there are none."""
    try:
        return await wholes.get({"apiVersion": OPENSHIFT, "kind": kind, "metadata": {"name": name}})
    except NoSuchKind:
        return None
