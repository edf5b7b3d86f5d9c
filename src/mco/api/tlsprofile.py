"""TLS profiles of OpenShift's APIServer: names of OpenSSL's there, of IANA where Go programs take them
(spec/operator.md 1.6, spec/render.md 2.6)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mco.api.meta.objects import JSON, APIStruct
from mco.base.errors import InvalidInput

_TLS13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
SAFE = {
    "ECDHE-ECDSA-AES128-GCM-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "ECDHE-RSA-CHACHA20-POLY1305": "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
}
"""Suites of TLS 1.2, OpenSSL's name to IANA's."""
_OLD = {
    "ECDHE-ECDSA-AES128-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "ECDHE-RSA-AES128-SHA256": "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "ECDHE-ECDSA-AES128-SHA": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "ECDHE-RSA-AES128-SHA": "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "ECDHE-ECDSA-AES256-SHA": "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "ECDHE-RSA-AES256-SHA": "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "AES128-GCM-SHA256": "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "AES256-GCM-SHA384": "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "AES128-SHA256": "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "AES128-SHA": "TLS_RSA_WITH_AES_128_CBC_SHA",
    "AES256-SHA": "TLS_RSA_WITH_AES_256_CBC_SHA",
    "DES-CBC3-SHA": "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
}
_IANA = {name: name for name in _TLS13} | SAFE | _OLD


class Profile(msgspec.Struct, frozen=True):
    """`minimum` as Go writes it, VersionTLS12; `suites` are IANA's names."""

    minimum: str
    suites: tuple[str, ...]


_PROFILES = {
    "Old": Profile("VersionTLS10", tuple(_IANA.values())),
    "Intermediate": Profile("VersionTLS12", (*_TLS13, *SAFE.values())),
    "Modern": Profile("VersionTLS13", _TLS13),
}
INTERMEDIATE = _PROFILES["Intermediate"]


class _Custom(APIStruct, frozen=True, kw_only=True):
    ciphers: tuple[str, ...] | None = None
    min_tls_version: str = msgspec.field(default="", name="minTLSVersion")


class _SecurityProfile(APIStruct, frozen=True, kw_only=True):
    type: str = ""
    custom: _Custom | None = None


class _Spec(APIStruct, frozen=True, kw_only=True):
    tls_security_profile: _SecurityProfile | None = msgspec.field(default=None, name="tlsSecurityProfile")


class _APIServer(APIStruct, frozen=True, kw_only=True):
    spec: _Spec = msgspec.field(default_factory=_Spec)


def profile(api_server: JSON) -> Profile:
    """What an APIServer object says; Intermediate where it says nothing that is known. A suite that Go does
    not have vanishes.

    Raises InvalidInput if it is no such object."""
    try:
        found = msgspec.convert(api_server, _APIServer).spec.tls_security_profile or _SecurityProfile()
    except msgspec.ValidationError as error:
        raise InvalidInput(f"this is no APIServer object: {error}") from error
    if found.type == "Custom" and found.custom is not None:
        return Profile(found.custom.min_tls_version, iana(found.custom.ciphers or ()))
    return _PROFILES.get(found.type, INTERMEDIATE)


def iana(ciphers: Sequence[str]) -> tuple[str, ...]:
    """OpenSSL's names, those of TLS 1.3 among them, by IANA's."""
    return tuple(_IANA[cipher] for cipher in ciphers if cipher in _IANA)
