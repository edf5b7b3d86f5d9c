"""Bearer tokens: static ones from a file, and the bootstrap tokens of joining machines."""

from __future__ import annotations

import base64
import csv
import hmac
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from mco.api import bootstraptokens
from mco.api.core import Secret
from mco.apiserver.auth.rules import BOOTSTRAPPERS
from mco.apiserver.auth.user import User, authenticated
from mco.apiserver.store.revision import Key, Revision
from mco.base.errors import InvalidInput

_GROUP = re.compile(rf"{bootstraptokens.GROUP_PREFIX}[a-z0-9:-]{{0,255}}[a-z0-9]\Z")


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

    def user_of(self, text: str, now: datetime) -> User | None:
        """The user behind a token, None when there is no such token (any more)."""
        parts = bootstraptokens.split(text)
        if parts is None:
            return None
        identifier, secret = parts
        name = bootstraptokens.NAME_PREFIX + identifier
        revision = self._read(Key("secrets", bootstraptokens.NAMESPACE, name))
        if revision is None:
            return None
        stored = msgspec.json.decode(revision.data, type=Secret)
        try:
            token = bootstraptokens.from_secret(stored)
        except InvalidInput:
            return None
        same = hmac.compare_digest(token.secret.encode(), secret.encode())
        if not same or not token.authenticates or token.expired(now):
            return None
        groups = (BOOTSTRAPPERS, *_extra_groups(stored))
        return authenticated(f"system:bootstrap:{identifier}", groups, identifier)


def _extra_groups(secret: Secret) -> list[str]:
    text = (secret.data or {}).get("auth-extra-groups", "")
    groups = (group.strip() for group in base64.b64decode(text).decode(errors="replace").split(","))
    return [group for group in groups if _GROUP.match(group)]
