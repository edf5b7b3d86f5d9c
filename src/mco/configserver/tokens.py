"""Join tokens: making them, and finding one that was made a moment ago."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from mco.api import bootstraptokens
from mco.api.bootstraptokens import BootstrapToken, from_secret
from mco.api.core import Secret
from mco.api.resources import SECRETS
from mco.base.errors import InvalidInput, MCOError
from mco.configserver.admission import TokenBook
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.runtime.logging import Logger

_log = Logger("mco.configserver")

_LOOKUPS_PER_SECOND = 20
_PATIENCE = 2.0


def new_token(pool: str, now: datetime, ttl: timedelta | None, machine: str = "") -> BootstrapToken:
    """A random token that nobody has seen; `ttl` None never expires."""
    return BootstrapToken(
        id=_random(bootstraptokens.ID_LENGTH),
        secret=_random(bootstraptokens.SECRET_LENGTH),
        pool=pool,
        machine=machine,
        expiration=now + ttl if ttl else None,
    )


def readable(found: Iterable[Secret]) -> list[BootstrapToken]:
    """The join tokens among Secrets, the first to expire first."""
    tokens = []
    for secret in found:
        try:
            tokens.append(from_secret(secret))
        except InvalidInput as error:
            _log.warning("not a join token", subject=error.subject, reason=error.message)
    return sorted(tokens, key=lambda token: (token.expiration is None, token.expiration, token.id))


def follow_tokens(tokens: Informer[Secret], book: TokenBook) -> None:
    """Keep `book` equal to the join tokens in the API."""

    def changed(old: Secret | None, new: Secret | None) -> None:
        if new is not None:
            _put(book, new)
        elif old is not None:
            book.remove(old.name)

    tokens.add_handler(changed)


class TokenLookup:
    """Asks the API for a token that the cache does not know: the machine may be faster than the watch, and
    real Ignition takes a refusal as final. Anybody can cause it, so only so many a second are asked for."""

    def __init__(self, client: Client, book: TokenBook) -> None:
        self._client = client
        self._book = book
        self._second = 0
        self._asked = 0

    async def __call__(self, token_id: str) -> None:
        """Put the token into the book if the API has it."""
        if not self._allowed():
            return
        name = bootstraptokens.NAME_PREFIX + token_id
        try:
            async with asyncio.timeout(_PATIENCE):
                secret = await self._client.get(SECRETS, name, namespace=bootstraptokens.NAMESPACE)
        except (MCOError, TimeoutError):
            return
        _put(self._book, secret)

    def _allowed(self) -> bool:
        second = int(asyncio.get_running_loop().time())
        if second != self._second:
            self._second, self._asked = second, 0
        self._asked += 1
        return self._asked <= _LOOKUPS_PER_SECOND


def _put(book: TokenBook, secret: Secret) -> None:
    try:
        book.put(secret)
    except InvalidInput as error:
        _log.warning("join token ignored", subject=error.subject, reason=error.message)


def _random(length: int) -> str:
    return "".join(secrets.choice(bootstraptokens.ALPHABET) for _ in range(length))
