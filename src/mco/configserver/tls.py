"""The TLS side of the listener: suites and versions from flags, which are written as Go writes them
(spec/operator.md 3.1)."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

import msgspec

from mco.api import tlsprofile
from mco.api.meta.objects import JSON
from mco.runtime.logging import Logger

_log = Logger("mco.configserver.tls")

INTERMEDIATE = {iana: name for name, iana in tlsprofile.SAFE.items()}
"""Go's name to OpenSSL's: every suite of TLS 1.2 that is safe, and so the only ones that can be chosen."""

_TLS13 = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
_VERSIONS = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}


class Profile(msgspec.Struct, frozen=True):
    """OpenSSL's names; TLS 1.3 suites are always on."""

    ciphers: tuple[str, ...] = tuple(INTERMEDIATE.values())
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2

    def context(self) -> ssl.SSLContext:
        """Without a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self.minimum
        context.set_ciphers(":".join(self.ciphers))
        context.set_alpn_protocols(["http/1.1"])
        # A machine comes once: nobody would resume its session.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_RENEGOTIATION
        # Every suite that can be chosen is safe: the client knows best what its hardware is fast at.
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
        return context


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


def security_profile(api_server: JSON) -> Profile:
    """The profile of an APIServer object (`config.openshift.io`). Only safe suites of it are used; Old is
    treated as Intermediate.

    Raises InvalidInput if it is no such object."""
    found = tlsprofile.profile(api_server)
    return profile([suite for suite in INTERMEDIATE if suite in found.suites], found.minimum)
