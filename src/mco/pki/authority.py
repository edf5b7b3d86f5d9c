"""The certificate authority of an installation, and what it signs."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mco.base.errors import InvalidInput
from mco.pki import files, keys

BACKDATE = timedelta(hours=1)
AUTHORITY_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=365)


class Pair(msgspec.Struct, frozen=True):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority(msgspec.Struct, frozen=True):
    """A certificate that signs others, with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def server(
        self, common_name: str, names: Iterable[str], now: datetime, lifetime: timedelta = LEAF_LIFETIME
    ) -> Pair:
        """A serving certificate for `names`: host names and IP addresses."""
        key = keys.generate()
        builder = (
            self._leaf(subject(common_name), key.public_key(), now, lifetime)
            .add_extension(x509.SubjectAlternativeName(_general_names(names)), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        )
        return Pair(self._sign(builder), keys.to_pem(key))

    def client(
        self, user: str, groups: Sequence[str], now: datetime, lifetime: timedelta = LEAF_LIFETIME
    ) -> Pair:
        """A client certificate: the user is its common name, the groups its organizations."""
        key = keys.generate()
        return Pair(
            self.client_certificate(subject(user, groups), key.public_key(), now, lifetime), keys.to_pem(key)
        )

    def client_certificate(
        self, name: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
    ) -> bytes:
        """PEM of a client certificate over a key that somebody else holds."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._sign(self._leaf(name, key, now, lifetime).add_extension(usage, critical=False))

    def _leaf(
        self, name: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
    ) -> x509.CertificateBuilder:
        # A leaf never outlives what signed it: a chain with a dead root is useless and hard to diagnose.
        end = min(now + lifetime, self.certificate.not_valid_after_utc)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            _builder(name, self.certificate.subject, key, now, end)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs=False), critical=True)
            .add_extension(issuer_key, critical=False)
        )

    def _sign(self, builder: x509.CertificateBuilder) -> bytes:
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def create(common_name: str, now: datetime, lifetime: timedelta = AUTHORITY_LIFETIME) -> Authority:
    """A new self-signed authority."""
    key = keys.generate()
    name = subject(common_name)
    builder = (
        _builder(name, name, key.public_key(), now, now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Authority(builder.sign(key, hashes.SHA256()), key)


def load(certificate: Path, key: Path) -> Authority:
    """The authority in two PEM files. Raises InvalidInput when they do not hold a pair."""
    try:
        parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    except ValueError as error:
        raise InvalidInput("the file holds no readable certificate", path=str(certificate)) from error
    private = keys.from_pem(key.read_bytes(), str(key))
    if parsed.public_key() != private.public_key():
        raise InvalidInput("the certificate does not belong to the private key", path=str(certificate))
    return Authority(parsed, private)


def save(authority: Authority, certificate: Path, key: Path) -> None:
    """The key goes first: a certificate without a key would look like a damaged authority."""
    files.write(key, keys.to_pem(authority.key))
    files.write(certificate, authority.certificate_pem, mode=0o644)


def load_or_create(folder: Path, common_name: str, now: datetime) -> Authority:
    """The authority kept in `folder` as `ca.crt` and `ca.key`, made on first use."""
    certificate, key = folder / "ca.crt", folder / "ca.key"
    if not certificate.exists():
        save(create(common_name, now), certificate, key)
    return load(certificate, key)


def subject(common_name: str, organizations: Iterable[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(end)
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _general_names(names: Iterable[str]) -> list[x509.GeneralName]:
    result: list[x509.GeneralName] = []
    for name in dict.fromkeys(names):
        try:
            result.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            result.append(x509.DNSName(name))
    return result
