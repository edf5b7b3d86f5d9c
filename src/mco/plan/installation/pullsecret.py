"""The credentials with which nodes pull from the cluster's own registry (spec/operator.md 1.6)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from mco.api.core import Secret
from mco.base.errors import InvalidInput

T = TypeVar("T")

OPERATOR = "image-registry"
"""The ClusterOperator without which there is no such registry."""
ACCOUNT = "machine-os-puller"
GLOBAL = "pull-secret"
_REGISTRY = "image-registry.openshift-image-registry.svc:5000"
_LEGACY, _KEY, _TYPE = ".dockercfg", ".dockerconfigjson", "kubernetes.io/dockerconfigjson"


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    username: str = ""
    password: str = ""
    email: str = ""
    auth: str = ""


class _Config(msgspec.Struct, frozen=True):
    auths: dict[str, _Entry] = {}


def merged(accounts: Sequence[Secret], cluster: Secret, domain: str) -> bytes:
    """A docker configuration, empty when nobody has credentials. `accounts` are the secrets of the account
    that pulls, `cluster` the one of the whole cluster, `domain` the cluster's base domain: before a node has
    joined it reaches the registry by its public name. Raises InvalidInput, which shows nothing of them."""
    auths: dict[str, _Entry] = {}
    for secret in accounts:
        auths |= _decoded(secret, _LEGACY, dict[str, _Entry])
    if cluster.type != _TYPE:
        text = f"expected secret type {_TYPE} found {cluster.type}"
        raise InvalidInput(text, subject=_subject(cluster), path="$.type")
    if _bytes(cluster, _KEY).strip() not in (b"", b"{}"):
        auths |= _decoded(cluster, _KEY, _Config).auths
    if _REGISTRY in auths:
        auths[f"default-route-openshift-image-registry.apps.{domain}"] = auths[_REGISTRY]
    return msgspec.json.encode(_Config(auths), order="sorted") if auths else b""


def _decoded(secret: Secret, key: str, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(_bytes(secret, key), type=shape)
    except msgspec.MsgspecError:
        # What the decoder says of it may quote it.
        text = f"the secret's {key} is no docker configuration"
        raise InvalidInput(text, subject=_subject(secret), path=f"$.data['{key}']") from None


def _bytes(secret: Secret, key: str) -> bytes:
    return base64.b64decode((secret.data or {}).get(key, ""))


def _subject(secret: Secret) -> str:
    return f"Secret/{secret.metadata.namespace}/{secret.name}"
