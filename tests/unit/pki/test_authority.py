"""The authority, what it signs, and how it is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from mco.base.errors import InvalidInput
from mco.pki import authority, files, keys
from mco.pki.authority import Authority

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def signer() -> Authority:
    return authority.create("test", NOW)


def parsed(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def test_an_authority_may_sign_and_lasts(signer: Authority) -> None:
    constraints = signer.certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca) == (True, True)
    assert signer.certificate.not_valid_after_utc == NOW + authority.AUTHORITY_LIFETIME
    assert isinstance(signer.key.curve, ec.SECP256R1)


def test_a_client_certificate_says_who_it_is(signer: Authority) -> None:
    pair = signer.client("system:mco:operator", ["a", "b"], NOW)
    certificate = parsed(pair.certificate)
    assert certificate.subject == authority.subject("system:mco:operator", ["a", "b"])
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate.verify_directly_issued_by(signer.certificate)
    assert keys.from_pem(pair.key, "pair").public_key() == certificate.public_key()


def test_a_server_certificate_names_its_addresses_once(signer: Authority) -> None:
    pair = signer.server("s", ["localhost", "10.0.0.1", "::1", "localhost"], NOW)
    names = parsed(pair.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["localhost", "10.0.0.1", "::1"]


def test_certificates_begin_an_hour_ago(signer: Authority) -> None:
    """The clock of a machine at first boot may be behind."""
    certificate = parsed(signer.client("u", [], NOW).certificate)
    assert certificate.not_valid_before_utc == NOW - timedelta(hours=1)


def test_no_certificate_outlives_its_authority(signer: Authority) -> None:
    certificate = parsed(signer.client("u", [], NOW, timedelta(days=10_000)).certificate)
    assert certificate.not_valid_after_utc == signer.certificate.not_valid_after_utc


def test_an_authority_is_made_once_and_kept_private(tmp_path: Path) -> None:
    first = authority.load_or_create(tmp_path, "test", NOW)
    second = authority.load_or_create(tmp_path, "other", NOW + timedelta(days=1))
    assert first.certificate == second.certificate
    assert (tmp_path / "ca.key").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.crt", "ca.key"]


@pytest.mark.parametrize(("name", "content"), [("ca.crt", b"junk"), ("ca.key", b"junk"), ("ca.key", b"")])
def test_a_damaged_authority_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    authority.load_or_create(tmp_path, "test", NOW)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        authority.load_or_create(tmp_path, "test", NOW)
    assert caught.value.path == str(tmp_path / name)


def test_a_key_of_another_authority_is_refused(tmp_path: Path) -> None:
    authority.load_or_create(tmp_path, "test", NOW)
    (tmp_path / "ca.key").write_bytes(keys.to_pem(keys.generate()))
    with pytest.raises(InvalidInput, match="does not belong to the private key"):
        authority.load_or_create(tmp_path, "test", NOW)


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)
    files.write(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(OSError, match="directory"):
        files.write(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_a_folder_is_made_private(tmp_path: Path) -> None:
    folder = files.private_folder(tmp_path / "a" / "b")
    assert folder.stat().st_mode & 0o777 == 0o700
