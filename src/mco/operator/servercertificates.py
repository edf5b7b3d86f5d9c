"""The config server's authority and serving certificate (spec/operator.md 1.6, 4.2).

They are kept valid wherever the operator runs the config server, whether or not there are machines of
OpenShift's machine API (spec/operator.md 9).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding

from mco.api import names
from mco.api.core import Secret
from mco.api.resources import CONFIG_MAPS, SECRETS
from mco.kube.client import Client
from mco.operator import ensure, lookup
from mco.operator.sources import SERVER_AUTHORITIES
from mco.payload.source.workloads import TLS_SECRET
from mco.pki import keys
from mco.pki.authority import AUTHORITY_LIFETIME, Authority, Pair, create
from mco.runtime.clock import Clock

REFRESH = timedelta(days=2920)
"""Both are made anew at this age, two years before they end."""
_OWNER = {"openshift.io/owning-component": "Machine Config Operator"}
_MANAGED = "auth.openshift.io/managed-certificate-type"


class ServerCertificates:
    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def keep(self, host: str) -> bytes:
        """The bundle that machines trust the config server by; `host` is where they reach it. An authority
        that goes leaves its certificate there for as long as it is valid: what it signed is still trusted."""
        authority = await self._authority()
        bundle = await self._bundle(authority)
        await self._serving(authority, host)
        return bundle.encode()

    async def _authority(self) -> Authority:
        found = await self._secret(SERVER_AUTHORITIES)
        pair = _pair(found)
        if pair is not None and self._fresh(pair.certificate):
            certificate = x509.load_pem_x509_certificate(pair.certificate)
            return Authority(certificate, keys.from_pem(pair.key, f"Secret/{SERVER_AUTHORITIES}"))
        now = self._clock.now()
        # Without the namespace, which the original puts before it: a common name has at most 64 characters.
        made = create(f"{SERVER_AUTHORITIES}@{int(now.timestamp())}", now)
        await self._write(
            found, SERVER_AUTHORITIES, "signer", Pair(made.certificate_pem, keys.to_pem(made.key))
        )
        return made

    async def _serving(self, authority: Authority, host: str) -> None:
        found = await self._secret(TLS_SECRET)
        pair = _pair(found)
        if pair is not None and self._fresh(pair.certificate) and _fits(pair.certificate, authority, host):
            return
        made = authority.server(host, (host,), self._clock.now(), AUTHORITY_LIFETIME)
        await self._write(found, TLS_SECRET, "target", made)

    async def _bundle(self, authority: Authority) -> str:
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _metadata(SERVER_AUTHORITIES, "ca-bundle"),
        }
        current = authority.certificate_pem.decode()
        found = await lookup.found(self._client, CONFIG_MAPS, SERVER_AUTHORITIES, namespace=names.NAMESPACE)
        if found is None:
            body["data"] = {"ca-bundle.crt": current}
            await self._client.create(CONFIG_MAPS, body, namespace=names.NAMESPACE)
            return current
        have = (found.data or {}).get("ca-bundle.crt", "")
        wanted = current + "".join(self._still_valid(have, current))
        if wanted != have:
            body["data"] = {"ca-bundle.crt": wanted}
            await ensure.patched(self._client, CONFIG_MAPS, found, body)
        return wanted

    def _still_valid(self, bundle: str, current: str) -> list[str]:
        """The other certificates of a bundle, without those that nobody needs any more."""
        try:
            found = x509.load_pem_x509_certificates(bundle.encode())
        except ValueError:
            return []
        now = self._clock.now()
        kept = [_pem(c).decode() for c in found if c.not_valid_after_utc > now]
        return [pem for pem in dict.fromkeys(kept) if pem != current]

    async def _secret(self, name: str) -> Secret | None:
        return await lookup.found(self._client, SECRETS, name, namespace=names.NAMESPACE)

    async def _write(self, found: Secret | None, name: str, kind: str, pair: Pair) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": _metadata(name, kind),
            "type": "kubernetes.io/tls",
            "data": {"tls.crt": _text(pair.certificate), "tls.key": _text(pair.key)},
        }
        if found is None:
            await self._client.create(SECRETS, body, namespace=names.NAMESPACE)
        else:
            del body["type"]
            await ensure.patched(self._client, SECRETS, found, body)

    def _fresh(self, pem: bytes) -> bool:
        """Whether it can be read, is valid, and is not due for its successor."""
        try:
            certificate = x509.load_pem_x509_certificate(pem)
        except ValueError:
            return False
        now = self._clock.now()
        refresh = min(certificate.not_valid_before_utc + REFRESH, _eighty_percent(certificate))
        return certificate.not_valid_before_utc <= now < refresh


def _eighty_percent(certificate: x509.Certificate) -> datetime:
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_before_utc + 0.8 * life


def _fits(pem: bytes, authority: Authority, host: str) -> bool:
    """Whether this authority signed it for this host."""
    certificate = x509.load_pem_x509_certificate(pem)
    try:
        certificate.verify_directly_issued_by(authority.certificate)
        names_ = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return [str(name.value) for name in names_] == [host]


def _pair(secret: Secret | None) -> Pair | None:
    data = (secret.data or {}) if secret else {}
    try:
        return Pair(base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]))
    except (KeyError, ValueError):
        return None


def _metadata(name: str, kind: str) -> Mapping[str, Any]:
    return {
        "name": name,
        "namespace": names.NAMESPACE,
        "annotations": _OWNER,
        "labels": {_MANAGED: kind},
    }


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
