"""Who asks: a client certificate, a bearer token, or nobody."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import unquote

import msgspec
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mco.apiserver import errors
from mco.apiserver.auth.rules import Attributes
from mco.apiserver.auth.user import NOBODY, User, authenticated
from mco.apiserver.http.request import Request

Lookup = Callable[[str, datetime], User | None]
"""From a bearer token to its user, at a time."""


_ACCOUNT = "system:serviceaccount:"


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

    def __init__(
        self, static: Mapping[str, User], bootstrap: Lookup, may: Callable[[User, Attributes], bool]
    ) -> None:
        self._static = {_digest(token): user for token, user in static.items()}
        self._bootstrap = bootstrap
        self._may = may

    def user_of(self, request: Request) -> User:
        """Raises StatusError 401 for a credential that is not valid (any more), 403 for whoever may not act
        as somebody else."""
        user = self._really(request)
        if not any(header.startswith("impersonate-") for header in request.headers):
            return user
        wanted = _wanted(request)
        for asked in _impersonations(wanted, request.headers.getlist("impersonate-group")):
            if not self._may(user, asked):
                raise _refused(user, asked)
        return wanted

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


def _wanted(request: Request) -> User:
    """Whom the request wants to be. Raises StatusError 500 without a name, as the original does."""
    name = request.headers.get("impersonate-user", "")
    if not name:
        raise errors.StatusError(
            500, "InternalError", "requested a group, uid or extra without impersonating a user"
        )
    groups = list(request.headers.getlist("impersonate-group"))
    if not groups and (account := _account(name)):
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account[0]}"]
    user = authenticated(name, tuple(groups)) if name != NOBODY.name else NOBODY
    return msgspec.structs.replace(user, extra=_extra(request))


def _account(name: str) -> tuple[str, str] | None:
    """Namespace and name of a service account, None for another user."""
    namespace, colon, account = name.removeprefix(_ACCOUNT).partition(":")
    return (namespace, account) if name.startswith(_ACCOUNT) and colon else None


def _impersonations(wanted: User, groups: list[str]) -> Iterator[Attributes]:
    """What somebody must be allowed to who acts as that user. `groups` are those that the request names; the
    ones that a service account has by itself come with it."""
    if account := _account(wanted.name):
        yield Attributes(
            verb="impersonate", resource="serviceaccounts", namespace=account[0], name=account[1]
        )
    else:
        yield Attributes(verb="impersonate", resource="users", name=wanted.name)
    for group in groups:
        yield Attributes(verb="impersonate", resource="groups", name=group)
    for key, values in wanted.extra:
        for value in values:
            yield Attributes(
                verb="impersonate", resource=f"userextras.authentication.k8s.io/{key}", name=value
            )


def _refused(user: User, asked: Attributes) -> errors.StatusError:
    whole, _, sub = asked.resource.partition("/")
    plural, _, group = whole.partition(".")
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    shown = f"{plural}/{sub}" if sub else plural
    why = f'User "{user.name}" cannot impersonate resource "{shown}" in API group "{group}" {where}'
    return errors.forbidden(plural, group, asked.name, why)


def _extra(request: Request) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`Impersonate-Extra-<name>`, where the name is percent-encoded."""
    prefix = "impersonate-extra-"
    given = sorted({header for header in request.headers if header.startswith(prefix)})
    return tuple(
        (unquote(header.removeprefix(prefix)), tuple(request.headers.getlist(header))) for header in given
    )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
