"""Bearer tokens: static ones from a file, and the bootstrap tokens of joining machines."""

from __future__ import annotations

import base64
import binascii
import csv
import hmac
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mco.apiserver.auth.user import User, authenticated
from mco.apiserver.store.revision import Key, Revision
from mco.base.errors import InvalidInput

BOOTSTRAPPERS = "system:bootstrappers"
SECRET_TYPE = "bootstrap.kubernetes.io/token"
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})\Z")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\Z")


def read_token_file(path: Path) -> dict[str, User]:
    """Users by token, from lines of `token,user,uid,"group1,group2"`. Raises InvalidInput naming the line."""
    users: dict[str, User] = {}
    with path.open(newline="") as file:
        for number, row in enumerate(csv.reader(file, skipinitialspace=True), start=1):
            if not row:
                continue
            if len(row) < 3 or not row[0] or not row[1]:
                raise InvalidInput(
                    f"line {number} is not token,user,uid and groups", path=str(path), hint="quote the groups"
                )
            groups = tuple(filter(None, (group.strip() for group in ",".join(row[3:]).split(","))))
            users[row[0]] = authenticated(row[1], groups)
    return users


class BootstrapTokens:
    """Tokens that Secrets `bootstrap-token-<id>` in `kube-system` describe, until they expire."""

    def __init__(self, read: Callable[[Key], Revision | None]) -> None:
        self._read = read

    def user_of(self, token: str) -> User | None:
        match = _TOKEN.match(token)
        if match is None:
            return None
        identifier, secret = match.groups()
        revision = self._read(Key("secrets", "kube-system", f"bootstrap-token-{identifier}"))
        if revision is None:
            return None
        stored = msgspec.json.decode(revision.data)
        data = _decoded(stored)
        if stored.get("type") != SECRET_TYPE or data.get("token-id") != identifier:
            return None
        if not hmac.compare_digest(data.get("token-secret", "").encode(), secret.encode()):
            return None
        if data.get("usage-bootstrap-authentication") != "true" or _expired(data.get("expiration", "")):
            return None
        extra = (group.strip() for group in data.get("auth-extra-groups", "").split(","))
        groups = (BOOTSTRAPPERS, *(group for group in extra if _GROUP.match(group)))
        return authenticated(f"system:bootstrap:{identifier}", groups, identifier)


def _decoded(secret: dict[str, Any]) -> dict[str, str]:
    result = {}
    for key, value in (secret.get("data") or {}).items():
        try:
            result[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, ValueError):
            continue
    return result


def _expired(text: str) -> bool:
    """A time that cannot be read has passed: a typing error must not make a token live forever."""
    if not text:
        return False
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return True
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) <= datetime.now(UTC)
