"""Kubeconfigs as text: one cluster, one user, one context."""

from __future__ import annotations

import base64
from typing import Any

import yaml

from mco.pki.authority import Pair


def with_certificate(server: str, ca: bytes, user: str, pair: Pair, *, cluster: str = "mco") -> bytes:
    """A kubeconfig whose user proves itself with a client certificate. `ca` is PEM."""
    credential = {"client-certificate-data": _text(pair.certificate), "client-key-data": _text(pair.key)}
    return _encode(server, ca, user, credential, cluster)


def with_token(server: str, ca: bytes, user: str, token: str, *, cluster: str = "mco") -> bytes:
    """A kubeconfig whose user proves itself with a bearer token. `ca` is PEM."""
    return _encode(server, ca, user, {"token": token}, cluster)


def _encode(server: str, ca: bytes, user: str, credential: dict[str, str], cluster: str) -> bytes:
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": cluster, "cluster": {"server": server, "certificate-authority-data": _text(ca)}}
        ],
        "users": [{"name": user, "user": credential}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
        "current-context": cluster,
    }
    return yaml.safe_dump(document, sort_keys=False, width=10_000).encode()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
