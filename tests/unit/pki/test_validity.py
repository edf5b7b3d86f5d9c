"""What a daemon reads of its certificate, against the library that it does without."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from mco.pki import authority, validity
from mco.pki.authority import Authority

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority.load_or_create(tmp_path_factory.mktemp("pki"), "test", NOW)


@pytest.mark.parametrize("user", ["system:node:worker-1", "ü", "x" * 60])
def test_user_and_dates_are_those_of_the_certificate(signer: Authority, user: str) -> None:
    pem = signer.client(user, ("system:nodes",), NOW).certificate
    real = x509.load_pem_x509_certificate(pem)
    found = validity.read(b"a comment\n" + pem + signer.certificate_pem)
    assert found == validity.Certificate(user, real.not_valid_before_utc, real.not_valid_after_utc)


@pytest.mark.parametrize("year", [1975, 2026, 2041, 2055])
def test_both_notations_of_time(tmp_path: Path, year: int) -> None:
    made = authority.load_or_create(tmp_path, "test", NOW.replace(year=year))
    found = validity.read(made.certificate_pem)
    assert found is not None
    assert found.begins == made.certificate.not_valid_before_utc
    assert found.ends == made.certificate.not_valid_after_utc


def test_what_is_cut_off_is_no_certificate(signer: Authority) -> None:
    der = ssl.PEM_cert_to_DER_cert(signer.certificate_pem.decode())
    for end in range(len(der)):
        assert validity.read(ssl.DER_cert_to_PEM_cert(der[:end]).encode()) is None


@pytest.mark.parametrize("text", [b"", b"\xff", b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"])
def test_what_is_no_pem_is_no_certificate(text: bytes) -> None:
    assert validity.read(text) is None
