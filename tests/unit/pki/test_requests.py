"""Signing requests of nodes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from mco.base.errors import InvalidInput
from mco.pki import authority, keys, requests

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _signed(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, name: x509.Name, *names: str) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(name)
    if names:
        alternative = x509.SubjectAlternativeName([x509.DNSName(each) for each in names])
        builder = builder.add_extension(alternative, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def test_a_nodes_request_becomes_its_certificate() -> None:
    signer, key = authority.create("test", NOW), keys.generate()
    pem = requests.sign_node_csr(signer, requests.create_for_node(key, "w1"), NOW)
    certificate = x509.load_pem_x509_certificate(pem)
    assert certificate.subject == authority.subject("system:node:w1", ["system:nodes"])
    assert certificate.public_key() == key.public_key()
    certificate.verify_directly_issued_by(signer.certificate)


def test_what_a_request_asks_for_is_read() -> None:
    asked = requests.parse(requests.create_for_node(keys.generate(), "w1"))
    assert (asked.user, asked.groups, asked.names) == ("system:node:w1", ("system:nodes",), ())
    assert requests.node_of(asked) == "w1"


def test_a_certificate_lasts_ten_minutes_at_least() -> None:
    signer = authority.create("test", NOW)
    pem = requests.create_for_node(keys.generate(), "w1")
    signed = requests.sign_node_csr(signer, pem, NOW, timedelta(seconds=1))
    assert x509.load_pem_x509_certificate(signed).not_valid_after_utc == NOW + timedelta(minutes=10)


@pytest.mark.parametrize(
    ("name", "names", "message"),
    [
        (authority.subject("admin", ["system:nodes"]), (), "does not name a node"),
        (authority.subject("system:node:", ["system:nodes"]), (), "does not name a node"),
        (authority.subject("system:node:w1"), (), "organization must be exactly system:nodes"),
        (authority.subject("system:node:w1", ["system:masters"]), (), "organization must be exactly"),
        (authority.subject("system:node:w1", ["system:nodes", "x"]), (), "organization must be exactly"),
        (authority.subject("system:node:w1", ["system:nodes"]), ("api",), "may not have alternative names"),
        (x509.Name([]), (), "exactly one common name"),
    ],
)
def test_a_request_for_more_is_refused(name: x509.Name, names: tuple[str, ...], message: str) -> None:
    signer = authority.create("test", NOW)
    with pytest.raises(InvalidInput, match=message):
        requests.sign_node_csr(signer, _signed(keys.generate(), name, *names), NOW)


@pytest.mark.parametrize(
    "key", [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())]
)
def test_a_request_over_another_kind_of_key_is_refused(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey,
) -> None:
    with pytest.raises(InvalidInput, match="not a P-256 key"):
        requests.parse(_signed(key, authority.subject("system:node:w1", ["system:nodes"])))


@pytest.mark.parametrize(
    "pem", [b"", b"junk", b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"]
)
def test_junk_is_refused(pem: bytes) -> None:
    with pytest.raises(InvalidInput, match="cannot be parsed"):
        requests.parse(pem)


def test_a_request_that_was_tampered_with_is_refused() -> None:
    der = bytearray(
        x509.load_pem_x509_csr(requests.create_for_node(keys.generate(), "w1")).public_bytes(
            serialization.Encoding.DER
        )
    )
    der[der.index(b"w1")] = ord("x")
    pem = x509.load_der_x509_csr(bytes(der)).public_bytes(serialization.Encoding.PEM)
    with pytest.raises(InvalidInput, match="not signed by its own key"):
        requests.parse(pem)
