"""The TLS listener: profile, certificate reload (spec/operator.md 3.1, 8.9)."""

from __future__ import annotations

import asyncio
import logging
import ssl
import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509

from mco.base.errors import InvalidInput
from mco.configserver.tls import INTERMEDIATE, Profile, profile
from mco.pki.authority import Authority
from mco.pki.serving import ServingCertificate
from tests.configserver.clients import (
    Wire,
    ask,
    connected,
    fixed_front,
    new_authority,
    served,
    serving,
    trusting,
    write_pair,
)

IGNITION = "application/vnd.coreos.ignition+json;version=3.5.0"
ROOT = new_authority()


@pytest.fixture
def certificate(tmp_path: Path) -> ServingCertificate:
    return serving(ROOT, tmp_path)


@pytest.fixture
async def port(certificate: ServingCertificate) -> AsyncIterator[int]:
    async with served(fixed_front(), context=certificate.context) as (_, port):
        yield port


def subject(wire: Wire) -> str:
    der = wire.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    name = x509.load_der_x509_certificate(der).subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(name[0].value)


async def presented(port: int, root: Authority = ROOT) -> str:
    async with connected(port, trusting(root)) as wire:
        return subject(wire)


async def test_a_config_arrives_whole_over_tls(port: int) -> None:
    answer = await ask(port, "GET", "/config/worker", trusting(ROOT), Accept=IGNITION)
    assert (answer.status, len(answer.body)) == (200, 200_000)


async def test_the_client_chooses_among_safe_suites(port: int) -> None:
    for suite in ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"):
        context = trusting(ROOT)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"{suite}:ECDHE-ECDSA-AES256-GCM-SHA384")
        assert (await presented_with(port, context))[0] == suite


async def test_tls_1_1_is_refused_and_1_2_works(port: int) -> None:
    old = trusting(ROOT)
    with warnings.catch_warnings(action="ignore"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await presented_with(port, old)
    old = trusting(ROOT)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert (await presented_with(port, old))[1] == "TLSv1.2"


async def presented_with(port: int, context: ssl.SSLContext) -> tuple[str, str]:
    async with connected(port, context) as wire:
        connection = wire.writer.get_extra_info("ssl_object")
        return connection.cipher()[0], connection.version()


@pytest.mark.parametrize(
    "suite",
    ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "AES128-GCM-SHA256", "AES128-SHA", "eNULL"],
)
async def test_unsafe_suites_are_refused(port: int, suite: str) -> None:
    context = trusting(ROOT)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{suite}:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await presented_with(port, context)


async def test_http_2_is_never_agreed_on(port: int) -> None:
    context = trusting(ROOT)
    context.set_alpn_protocols(["h2"])
    async with connected(port, context) as wire:
        assert wire.writer.get_extra_info("ssl_object").selected_alpn_protocol() is None
        wire.writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert (await wire.answer()).status == 400


async def test_only_the_chosen_suites_and_version_are_offered(tmp_path: Path) -> None:
    chosen = profile(["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"], "VersionTLS12")
    async with served(fixed_front(), context=serving(ROOT, tmp_path, chosen).context) as (_, port):
        context = trusting(ROOT)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        assert (await presented_with(port, context))[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"
        context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await presented_with(port, context)


async def test_a_minimum_of_1_3_refuses_1_2(tmp_path: Path) -> None:
    async with served(
        fixed_front(), context=serving(ROOT, tmp_path, profile([], "VersionTLS13")).context
    ) as (_, port):
        context = trusting(ROOT)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await presented_with(port, context)


@pytest.mark.parametrize(
    ("suites", "minimum"),
    [
        ([], "VersionTLS12"),
        (["", " "], "VersionTLS12"),
        (["TLS_RSA_WITH_AES_128_CBC_SHA"], "VersionTLS12"),
        (["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "NO_SUCH_SUITE"], "VersionTLS13"),
        ([], "VersionTLS10"),
        ([], "nonsense"),
    ],
)
def test_what_is_empty_or_unsafe_falls_back_to_intermediate(suites: list[str], minimum: str) -> None:
    assert profile(suites, minimum) == Profile(tuple(INTERMEDIATE.values()), ssl.TLSVersion.TLSv1_2)


async def test_a_new_pair_is_served_without_a_restart(
    tmp_path: Path, certificate: ServingCertificate, port: int
) -> None:
    async with connected(port, trusting(ROOT)) as before:
        other = new_authority()
        write_pair(other, tmp_path, "second")
        certificate.refresh()
        assert await presented(port, other) == "second"
        with pytest.raises(ssl.SSLCertVerificationError):
            await presented(port, ROOT)
        answer = await before.ask("GET", "/config/worker", Accept=IGNITION)
        assert (answer.status, subject(before)) == (200, "first")


@pytest.mark.parametrize("broken", ["garbage", "wrong key", "missing", "empty"])
async def test_a_bad_pair_keeps_the_old_one_and_is_logged(
    tmp_path: Path,
    certificate: ServingCertificate,
    port: int,
    broken: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "tls.crt"
    match broken:
        case "garbage":
            path.write_bytes(b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
        case "wrong key":
            path.write_bytes(
                ROOT.server("other", ["127.0.0.1"], ROOT.certificate.not_valid_before_utc).certificate
            )
        case "missing":
            path.unlink()
        case _:
            path.write_bytes(b"")
    with caplog.at_level(logging.ERROR):
        certificate.refresh()
    assert [record.getMessage() for record in caplog.records] == ["certificate not replaced"]
    assert await presented(port) == "first"
    with caplog.at_level(logging.ERROR):
        certificate.refresh()
    assert len(caplog.records) == 1
    write_pair(ROOT, tmp_path, "third")
    certificate.refresh()
    assert await presented(port) == "third"


async def test_a_pair_that_is_swapped_by_a_link_is_noticed(tmp_path: Path) -> None:
    """As Kubernetes updates a mounted Secret."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_pair(ROOT, tmp_path / name, name)
    link = tmp_path / "data"
    link.symlink_to("one")
    certificate = ServingCertificate(link / "tls.crt", link / "tls.key", Profile().context)
    async with served(fixed_front(), context=certificate.context) as (_, port):
        watching = asyncio.create_task(certificate.watch(0.01))
        assert await presented(port) == "one"
        (tmp_path / "next").symlink_to("two")
        (tmp_path / "next").replace(link)
        async with asyncio.timeout(5):
            while await presented(port) != "two":
                pass
        watching.cancel()


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key"])
def test_without_its_files_the_server_does_not_start(tmp_path: Path, missing: str) -> None:
    certificate, key = write_pair(ROOT, tmp_path, "first")
    (tmp_path / missing).unlink()
    with pytest.raises(InvalidInput) as error:
        ServingCertificate(certificate, key, Profile().context)
    assert str(tmp_path / missing) in error.value.path
    assert "unencrypted private key" in error.value.hint
