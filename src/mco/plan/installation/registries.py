"""The authorities of image registries: those that a user trusts in addition, and those that the cluster does
(spec/operator.md 1.6)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api import names

MERGED, MANAGED = "merged-trusted-image-registry-ca", "image-registry-ca"
_OWNER = {"openshift.io/owning-component": "Machine Config Operator"}

Bundles = Mapping[str, bytes]
"""PEM by registry: `host`, or `host..port`."""


class Registries(msgspec.Struct, frozen=True, kw_only=True):
    """`pull_secret` is a docker configuration for the cluster's own registry; empty for none."""

    managed: Bundles = {}
    users: Bundles = {}
    pull_secret: bytes = b""


def fields(found: Registries) -> dict[str, Any]:
    """Of a ControllerConfig's spec, as builtins."""
    return {
        "imageRegistryBundleData": _listed(found.managed),
        "imageRegistryBundleUserData": _listed(found.users),
        "internalRegistryPullSecret": _text(found.pull_secret) if found.pull_secret else None,
    }


def merged(found: Registries) -> dict[str, Any]:
    """The ConfigMap for whoever else has to trust them, ready to create; the user's word counts."""
    data: dict[str, str] = {}
    binary: dict[str, str] = {}
    for name, bundle in {**found.managed, **found.users}.items():
        try:
            data[name] = bundle.decode()
        except UnicodeDecodeError:
            binary[name] = _text(bundle)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": MERGED, "namespace": names.OPENSHIFT_CONFIG_MANAGED, "annotations": _OWNER},
        "data": data,
        "binaryData": binary,
    }


def _listed(bundles: Bundles) -> list[dict[str, str]]:
    return [{"file": name, "data": _text(bundle)} for name, bundle in bundles.items()]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
