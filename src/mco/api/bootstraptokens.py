"""Bootstrap tokens: what a machine without a certificate proves itself with when it joins.

Kubernetes' own kind of token, a Secret `bootstrap-token-<id>` in `kube-system`, so that any API server
accepts it. Ours carry the pool whose config they may fetch as a label, and the machine that they were made
for as an annotation (design.md 10, identity). The id is public and names the token in logs; the secret never
appears.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from mco.api import names
from mco.api.core import Secret
from mco.base.errors import InvalidInput

NAMESPACE = "kube-system"
SECRET_TYPE = "bootstrap.kubernetes.io/token"
NAME_PREFIX = "bootstrap-token-"
GROUP_PREFIX = "system:bootstrappers:"
ID_LENGTH, SECRET_LENGTH = 6, 16
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_POOL = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


class BootstrapToken(msgspec.Struct, frozen=True, kw_only=True):
    """`pool` is empty for a token that is not ours; `machine` is empty when any machine may use it;
    `expiration` None never expires; `authenticates` is Kubernetes' `usage-bootstrap-authentication`."""

    id: str
    secret: str
    pool: str = ""
    machine: str = ""
    expiration: datetime | None = None
    authenticates: bool = True

    def __repr__(self) -> str:
        return f"BootstrapToken({self.id}, pool={self.pool!r}, machine={self.machine!r})"

    @property
    def text(self) -> str:
        """What goes into the Authorization header and into a kubeconfig."""
        return f"{self.id}.{self.secret}"

    @property
    def secret_name(self) -> str:
        return NAME_PREFIX + self.id

    def expired(self, now: datetime) -> bool:
        return self.expiration is not None and self.expiration <= now


def split(text: str) -> tuple[str, str] | None:
    """`(id, secret)` of a token's text, None if it has not that form."""
    match = _TOKEN.fullmatch(text)
    return (match[1], match[2]) if match else None


def from_secret(secret: Secret) -> BootstrapToken:
    """The token in a Secret. Raises InvalidInput for a Secret that is not a usable bootstrap token."""
    data = {key: _decoded(secret, key) for key in secret.data or {}}
    parts = split(f"{data.get('token-id', '')}.{data.get('token-secret', '')}")
    if secret.type != SECRET_TYPE or parts is None:
        raise InvalidInput("the Secret is not a bootstrap token", subject=f"Secret/{secret.key}")
    if secret.name != NAME_PREFIX + parts[0]:
        raise InvalidInput(
            f"the Secret of token {parts[0]} must be named {NAME_PREFIX}{parts[0]}",
            subject=f"Secret/{secret.key}",
        )
    return BootstrapToken(
        id=parts[0],
        secret=parts[1],
        pool=secret.metadata.label(names.JOIN_POOL_LABEL) or "",
        machine=secret.metadata.annotation(names.JOIN_MACHINE) or "",
        expiration=_time(secret, data["expiration"]) if "expiration" in data else None,
        authenticates=data.get("usage-bootstrap-authentication") == "true",
    )


def to_secret(token: BootstrapToken) -> dict[str, Any]:
    """The Secret of a join token, as builtins ready to create.

    Raises InvalidInput for a pool that cannot be a label, so that no token exists that nobody may use."""
    if not _POOL.fullmatch(token.pool):
        raise InvalidInput(
            f'"{token.pool}" is not a valid pool name', hint="use lower case letters, digits, '-' and '.'"
        )
    data = {
        "token-id": token.id,
        "token-secret": token.secret,
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": f"{GROUP_PREFIX}machine-config:{token.pool.replace('.', '-')}",
    }
    if token.expiration:
        data["expiration"] = token.expiration.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": SECRET_TYPE,
        "metadata": _metadata(token),
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }


def _metadata(token: BootstrapToken) -> Mapping[str, Any]:
    metadata: dict[str, Any] = {
        "name": token.secret_name,
        "namespace": NAMESPACE,
        "labels": {names.JOIN_POOL_LABEL: token.pool},
    }
    if token.machine:
        metadata["annotations"] = {names.JOIN_MACHINE: token.machine}
    return metadata


def _decoded(secret: Secret, key: str) -> str:
    try:
        return base64.b64decode((secret.data or {})[key], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidInput(
            "the value is not base64 of text", subject=f"Secret/{secret.key}", path=f"$.data.{key}"
        ) from None


def _time(secret: Secret, text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = datetime.min
    if time.tzinfo is None:
        raise InvalidInput(
            "the expiration is not an RFC 3339 time", subject=f"Secret/{secret.key}", path="$.data.expiration"
        )
    return time
