"""How an object of the payload begins: its names, and who shall have it (spec/operator.md 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mco.api import names

OPERATOR, CONTROLLER = "machine-config-operator", "machine-config-controller"
DAEMON, SERVER = "machine-config-daemon", "machine-config-server"

PROFILES = ("ibm-cloud-managed", "self-managed-high-availability", "single-node-developer")
SELF_MANAGED = PROFILES[1:]
CAPABILITY = "capability.openshift.io/name"
APP_LABEL = "k8s-app"
PROGRAM_LABEL, VERSION_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/version"
PROGRAM = "mco"


def included(*profiles: str) -> dict[str, str]:
    """The annotations without which nobody's installation has an object."""
    return {f"include.release.openshift.io/{profile}": "true" for profile in profiles or PROFILES}


def made(
    api_version: str,
    kind: str,
    name: str,
    *,
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "annotations": dict(annotations or included())}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def ours(api_version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    """An object in our namespace."""
    return made(api_version, kind, name, namespace=names.NAMESPACE, **rest)
