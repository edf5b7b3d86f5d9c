"""Join tokens: making them, following them, and telling those that do not exist."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from mco.api import bootstraptokens, names
from mco.api.bootstraptokens import BootstrapToken, from_secret
from mco.api.core import Secret
from mco.api.resources import SECRETS
from mco.base.errors import InvalidInput, MCOError
from mco.configserver.admission import TokenBook
from mco.kube.client import Client
from mco.kube.errors import Forbidden
from mco.kube.informer import Informer
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.configserver")

_PAUSE = 1.0
_REMEMBERED = 10_000


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


class UnknownTokens:
    """Tells a token that does not exist from one that the cache has not heard of yet: a machine may be faster
    than the watch, and real Ignition takes a refusal as final.

    No request asks the API, and none waits. A token that is not known is one to wait for until the API was
    asked what tokens there are, once for all that were shown in the meantime and at most once a second; those
    that it does not have are refused from then on. Anybody can show tokens, so only so many are remembered.
    """

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._shown: set[str] = set()
        self._asked: set[str] = set()
        self._absent: dict[str, None] = {}
        self._news = asyncio.Event()

    def __call__(self, token_id: str) -> bool:
        """See `front.Unknown`."""
        if token_id in self._absent:
            return True
        if token_id not in self._asked and len(self._shown) < _REMEMBERED:
            self._shown.add(token_id)
            self._news.set()
        return False

    async def run(self) -> None:
        """Finds out, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._find_out()
            except MCOError as error:
                _log.warning("cannot see whether there is a join token", reason=str(error))
            self._asked = set()
            await self._clock.sleep(_PAUSE)

    async def _find_out(self) -> None:
        self._asked, self._shown = self._shown, set()
        try:
            there = await self._there()
        except Forbidden:
            # Who may not read tokens knows none.
            there = set()
        for token_id in self._asked - there:
            self._absent[token_id] = None
        for token_id in list(self._absent)[:-_REMEMBERED]:
            del self._absent[token_id]

    async def _there(self) -> set[str]:
        found = await self._client.list(
            SECRETS, namespace=bootstraptokens.NAMESPACE, label_selector=names.JOIN_POOL_LABEL
        )
        return {secret.name.removeprefix(bootstraptokens.NAME_PREFIX) for secret in found.items}


def _put(book: TokenBook, secret: Secret) -> None:
    try:
        book.put(secret)
    except InvalidInput as error:
        _log.warning("join token ignored", subject=error.subject, reason=error.message)


def _random(length: int) -> str:
    return "".join(secrets.choice(bootstraptokens.ALPHABET) for _ in range(length))
