"""Who asks: a client certificate, a bearer token, or nobody."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import unquote

import msgspec
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mco.apiserver import errors
from mco.apiserver.auth.user import MASTERS, NOBODY, User, authenticated
from mco.apiserver.http.request import Request

Lookup = Callable[[str, datetime], User | None]
"""From a bearer token to its user, at a time."""


class Identity(msgspec.Struct, frozen=True):
    """What a client certificate says. The TLS layer has checked who signed it, not the time."""

    user: User
    begins: datetime
    ends: datetime


@functools.lru_cache(maxsize=16_384)
def identity_of(certificate: bytes) -> Identity | None:
    """The identity in a certificate (DER); None when it is not one for clients."""
    parsed = x509.load_der_x509_certificate(certificate)
    try:
        usage = parsed.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return None
    names = [str(a.value) for a in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if ExtendedKeyUsageOID.CLIENT_AUTH not in usage or len(names) != 1:
        return None
    groups = (str(a.value) for a in parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    user = authenticated(names[0], tuple(groups))
    return Identity(user, parsed.not_valid_before_utc, parsed.not_valid_after_utc)


class Authenticator:
    """Static tokens are compared by their hash, so that timing tells nothing of them."""

    def __init__(self, static: Mapping[str, User], bootstrap: Lookup) -> None:
        self._static = {_digest(token): user for token, user in static.items()}
        self._bootstrap = bootstrap

    def user_of(self, request: Request) -> User:
        """Raises StatusError 401 for a credential that is not valid (any more), 403 for whoever may not act
        as somebody else."""
        user = self._really(request)
        name = request.headers.get("impersonate-user", "")
        if not any(header.startswith("impersonate-") for header in request.headers):
            return user
        if MASTERS not in user.groups or not name:
            raise errors.forbidden(
                "users", "", name, f'User "{user.name}" cannot impersonate resource "users"'
            )
        user = authenticated(name, tuple(request.headers.getlist("impersonate-group")))
        return msgspec.structs.replace(user, extra=_extra(request))

    def _really(self, request: Request) -> User:
        now = datetime.now(UTC)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            user = self._static.get(_digest(token.strip())) or self._bootstrap(token.strip(), now)
            if user is None:
                raise errors.unauthorized()
            return user
        if request.connection.peer is None:
            return NOBODY
        identity = identity_of(request.connection.peer)
        if identity is None or not identity.begins <= now <= identity.ends:
            raise errors.unauthorized()
        return identity.user


def _extra(request: Request) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`Impersonate-Extra-<name>`, where the name is percent-encoded."""
    prefix = "impersonate-extra-"
    given = sorted({header for header in request.headers if header.startswith(prefix)})
    return tuple(
        (unquote(header.removeprefix(prefix)), tuple(request.headers.getlist(header))) for header in given
    )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
