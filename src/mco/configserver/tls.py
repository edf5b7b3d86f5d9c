"""The TLS side of the listener: suites from flags, and a certificate that is replaced while connections run.

Suites and versions are written as Go writes them (spec/operator.md 3.1). A new certificate is loaded into a
context of its own and only then takes the place of the old one, so a half-written pair never breaks a
handshake.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mco.api.meta.objects import JSON, APIStruct
from mco.base.errors import InvalidInput
from mco.runtime.logging import Logger

_log = Logger("mco.configserver.tls")

INTERMEDIATE = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}
"""Go's name to OpenSSL's: every suite of TLS 1.2 that is safe, and so the only ones that can be chosen."""

_TLS13 = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
_VERSIONS = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}


class Profile(msgspec.Struct, frozen=True):
    """OpenSSL's names; TLS 1.3 suites are always on."""

    ciphers: tuple[str, ...] = tuple(INTERMEDIATE.values())
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2


def profile(suites: Sequence[str], minimum: str) -> Profile:
    """The profile of the two flags; what is empty, unknown or unsafe falls back to Intermediate."""
    names = [name.strip() for name in suites if name.strip()]
    unknown = [name for name in names if name not in INTERMEDIATE and name not in _TLS13]
    if unknown:
        _log.warning("unsafe or unknown cipher suites, using the Intermediate profile", suites=unknown)
        return Profile()
    if minimum not in _VERSIONS:
        _log.warning("unsafe or unknown TLS version, using TLS 1.2", version=minimum)
    chosen = tuple(INTERMEDIATE[name] for name in names if name in INTERMEDIATE)
    return Profile(chosen or tuple(INTERMEDIATE.values()), _VERSIONS.get(minimum, ssl.TLSVersion.TLSv1_2))


class _Custom(APIStruct, frozen=True, kw_only=True):
    ciphers: tuple[str, ...] | None = None
    min_tls_version: str = msgspec.field(default="", name="minTLSVersion")


class _SecurityProfile(APIStruct, frozen=True, kw_only=True):
    type: str = ""
    custom: _Custom | None = None


class _APIServerSpec(APIStruct, frozen=True, kw_only=True):
    tls_security_profile: _SecurityProfile | None = msgspec.field(default=None, name="tlsSecurityProfile")


class _APIServer(APIStruct, frozen=True, kw_only=True):
    spec: _APIServerSpec = msgspec.field(default_factory=_APIServerSpec)


def security_profile(api_server: JSON) -> Profile:
    """The profile of an APIServer object (`config.openshift.io`), whose suites have OpenSSL's names. Only
    safe suites of a custom one are used; Old is treated as Intermediate.

    Raises InvalidInput if it is no such object."""
    try:
        found = msgspec.convert(api_server, _APIServer).spec.tls_security_profile or _SecurityProfile()
    except msgspec.ValidationError as error:
        raise InvalidInput(f"this is no APIServer object: {error}") from error
    if found.type == "Modern":
        return Profile(minimum=ssl.TLSVersion.TLSv1_3)
    if found.type != "Custom" or found.custom is None:
        return Profile()
    wanted = found.custom.ciphers or ()
    ciphers = tuple(cipher for cipher in INTERMEDIATE.values() if cipher in wanted)
    minimum = _VERSIONS.get(found.custom.min_tls_version, ssl.TLSVersion.TLSv1_2)
    return Profile(ciphers or tuple(INTERMEDIATE.values()), minimum)


class ServingCertificate:
    """A certificate and key on disk, and the context that serves what they hold now."""

    def __init__(self, certificate: Path, key: Path, profile: Profile) -> None:
        """Raises InvalidInput if the files cannot be read or do not fit."""
        self._certificate = certificate
        self._key = key
        self._profile = profile
        self._seen = self._fingerprint()
        self._current = self._load()
        self.context = self._load()
        self.context.sni_callback = self._choose

    async def watch(self, seconds: float = 1.0) -> None:
        """Take over new files as they appear, for ever."""
        while True:
            await asyncio.sleep(seconds)
            self.refresh()

    def refresh(self) -> None:
        """Take over the files if they changed; a pair that does not fit is logged and the old one stays."""
        seen = self._fingerprint()
        if seen == self._seen:
            return
        try:
            self._current = self._load()
        except InvalidInput as error:
            # Its other half may be written in a moment: that changes the fingerprint again.
            _log.error("certificate not replaced", path=error.path, reason=error.message)
        else:
            _log.info("certificate replaced", path=str(self._certificate))
        self._seen = seen

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._profile.minimum
        context.set_ciphers(":".join(self._profile.ciphers))
        context.set_alpn_protocols(["http/1.1"])
        # A machine comes once: nobody would resume its session.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_RENEGOTIATION
        # Every suite that can be chosen is safe: the client knows best what its hardware is fast at.
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
        try:
            context.load_cert_chain(self._certificate, self._key)
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InvalidInput(
                f"the serving certificate cannot be used: {reason}",
                path=f"{self._certificate}, {self._key}",
                hint="give a PEM certificate chain and its unencrypted private key with --cert and --key",
            ) from error
        return context

    def _fingerprint(self) -> tuple[tuple[int, int, int], ...]:
        return tuple(_identity(path) for path in (self._certificate, self._key))


def _identity(path: Path) -> tuple[int, int, int]:
    """Changes when the file is written, replaced, or when a link to it is switched over."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
