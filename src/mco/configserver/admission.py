"""Who may have a config, and with which token its machine joins (design.md 10, identity).

A machine shows its join token as `Authorization: Bearer <id>.<secret>`; the same token then stands in the
kubeconfig that it is served. Without `require_token` a machine without one gets the shared token, as in the
original, which serves everybody; a token that is shown but wrong is refused in either case.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import datetime

import msgspec

from mco.api import bootstraptokens
from mco.api.bootstraptokens import BootstrapToken
from mco.api.core import Secret
from mco.base.errors import InvalidInput, MCOError


class Admission(msgspec.Struct, frozen=True):
    """`token` goes into the kubeconfig; `token_id` and `machine` are empty for the shared token."""

    token: str
    token_id: str = ""
    machine: str = ""

    def __repr__(self) -> str:
        return f"Admission({self.token_id!r}, machine={self.machine!r})"


class Refused(MCOError):
    """No config: 401 if it is not known who asks, 403 if it is and may not. `token_id` may be empty."""

    def __init__(self, message: str, *, status: int, token_id: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.token_id = token_id


class UnknownToken(Refused):
    """A token that is not in the book; it may have been made a moment ago."""


class TokenBook:
    """The join tokens that exist, by id; kept current by whoever watches their Secrets."""

    def __init__(self) -> None:
        self._tokens: dict[str, BootstrapToken] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def put(self, secret: Secret) -> None:
        """Raises InvalidInput for a Secret that is no join token; what it was before is gone then."""
        self.remove(secret.name)
        token = bootstraptokens.from_secret(secret)
        if not token.pool:
            raise InvalidInput("the token belongs to no pool", subject=f"Secret/{secret.key}")
        self._tokens[token.id] = token

    def remove(self, secret_name: str) -> None:
        self._tokens.pop(secret_name.removeprefix(bootstraptokens.NAME_PREFIX), None)

    def check(self, text: str, pool: str, now: datetime) -> BootstrapToken:
        """The token, if it may fetch `pool`'s config now. Raises UnknownToken or another Refused."""
        parts = bootstraptokens.split(text)
        if parts is None:
            raise Refused("what was shown is not a join token", status=401)
        token = self._tokens.get(parts[0])
        if token is None:
            raise UnknownToken("the join token is not known", status=401, token_id=parts[0])
        if not hmac.compare_digest(parts[1].encode(), token.secret.encode()):
            raise Refused("the join token is not known", status=401)
        if token.expired(now):
            raise Refused("the join token has expired", status=401, token_id=token.id)
        if not token.authenticates:
            raise Refused("the join token may not authenticate", status=403, token_id=token.id)
        if token.pool != pool:
            raise Refused(f"the join token belongs to pool {token.pool}", status=403, token_id=token.id)
        return token


class Gate:
    """Admits requests. `shared` gives the token for machines that show none, or raises MCOError."""

    def __init__(self, tokens: TokenBook, shared: Callable[[], str], *, require_token: bool = False) -> None:
        self._tokens = tokens
        self._shared = shared
        self._require = require_token

    def admit(self, authorization: str, pool: str, now: datetime) -> Admission:
        """Raises Refused, or what `shared` raises."""
        scheme, _, shown = authorization.partition(" ")
        shown = shown.strip()
        if scheme.lower() != "bearer":
            shown = ""
        if self._require or bootstraptokens.split(shown):
            if not shown:
                raise Refused("a join token is required", status=401)
            token = self._tokens.check(shown, pool, now)
            return Admission(token.text, token.id, token.machine)
        return Admission(self._shared())


def everybody(_authorization: str, _pool: str, _now: datetime) -> Admission:
    """The bootstrap server's gate: there is no cluster yet that could know tokens."""
    return Admission("")
