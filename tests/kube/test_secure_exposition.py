"""Metrics over TLS, for those of whom the API server says that they may read them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

import pytest

from mco.api import names
from mco.base.errors import InvalidInput, Unavailable
from mco.kube.client import Client
from mco.kube.config import Cluster
from mco.kube.exposition import Exposition, Secure
from mco.kube.reviews import SECONDS, Reviews
from mco.pki import authority
from mco.plan.metrics import Metric, single
from mco.runtime.scraping import Address
from mco.runtime.supervise import beside
from tests.controllers.fleet import HandClock
from tests.kube.scripted import Asked, ScriptedServer, Wire, scripted
from tests.scrape import ask, series

FAMILIES = (single(Metric("met_value", "a gauge"), 7.0),)
GROUPS = ["system:serviceaccounts", "system:authenticated"]
USERS = {"good": "system:serviceaccount:openshift-monitoring:prometheus-k8s", "weak": "system:anybody"}


async def api_server(asked: Asked, wire: Wire) -> None:
    """Knows two tokens; one of them may read."""
    spec = asked.json()["spec"]
    match asked.path:
        case "/apis/authentication.k8s.io/v1/tokenreviews":
            user = USERS.get(spec["token"])
            known = {"authenticated": True, "user": {"username": user, "uid": "1", "groups": GROUPS}}
            await wire.json({"status": known if user else {"error": "unknown"}}, 201)
        case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
            about = spec["resourceAttributes"]
            asked_for = (about["verb"], about["resource"], about["subresource"], about["namespace"])
            assert asked_for == ("get", "namespace", "metrics", names.NAMESPACE)
            assert spec["groups"] == GROUPS
            await wire.json({"status": {"allowed": spec["user"] == USERS["good"]}}, 201)
        case _:
            await wire.status(404)


@contextlib.asynccontextmanager
async def guarded(cluster: Cluster, tls: Path) -> AsyncIterator[str]:
    exposition = Exposition(None, Secure(Address("127.0.0.1", 0), tls, cluster))
    with exposition.showing(lambda: FAMILIES):
        async with beside(*(part() for part in exposition.parts().values())):
            yield f"https://127.0.0.1:{exposition.secure_port}/metrics"


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with scripted(api_server) as found:
        yield found


@pytest.fixture
async def url(server: ScriptedServer, tmp_path: Path) -> AsyncIterator[str]:
    async with guarded(server.cluster, tmp_path) as url:
        yield url


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("", 401),
        ("Basic Z29vZA==", 401),
        ("Bearer", 401),
        ("Bearer wrong", 401),
        ("Bearer weak", 403),
        ("Bearer good", 200),
        ("bearer good", 200),
    ],
)
async def test_who_may_read(url: str, authorization: str, status: int) -> None:
    shown = {"Authorization": authorization} if authorization else {}
    answer = await ask(url, **shown)
    assert answer.status == status
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert (series(answer.body) if answer.body else {}) == ({("met_value",): 7.0} if status == 200 else {})


async def test_who_may_not_read_learns_nothing_else(url: str) -> None:
    other = url.replace("/metrics", "/other")
    assert (await ask(other)).status == 401
    assert (await ask(other, Authorization="Bearer good")).status == 404
    assert (await ask(url, "POST", Authorization="Bearer good")).status == 405


async def test_the_api_server_is_asked_once_a_minute(server: ScriptedServer) -> None:
    clock = HandClock()
    async with Client(server.cluster) as client:
        reviews = Reviews(client, clock)
        for _ in range(3):
            assert await reviews.admit("Bearer good") is HTTPStatus.OK
            assert await reviews.admit("Bearer wrong") is HTTPStatus.UNAUTHORIZED
        assert len(server.asked) == 3
        clock.seconds += SECONDS
        assert await reviews.admit("Bearer good") is HTTPStatus.OK
        assert len(server.asked) == 5


async def test_many_wrong_tokens_are_not_kept_for_ever(server: ScriptedServer) -> None:
    async with Client(server.cluster) as client:
        reviews = Reviews(client, HandClock())
        assert await reviews.admit("Bearer good") is HTTPStatus.OK
        for number in range(300):
            assert await reviews.admit(f"Bearer wrong-{number}") is HTTPStatus.UNAUTHORIZED
        before = len(server.asked)
        assert await reviews.admit("Bearer wrong-299") is HTTPStatus.UNAUTHORIZED
        assert len(server.asked) == before
        assert await reviews.admit("Bearer good") is HTTPStatus.OK
        assert len(server.asked) == before + 2


async def test_who_is_known_does_not_wait_for_who_is_not() -> None:
    """Whoever keeps the API server thinking keeps nobody else out."""
    held, answers = asyncio.Event(), asyncio.Event()

    async def slow(asked: Asked, wire: Wire) -> None:
        if asked.json()["spec"].get("token") == "slow":
            held.set()
            await answers.wait()
        await api_server(asked, wire)

    async with scripted(slow) as server, Client(server.cluster) as client, asyncio.timeout(30):
        reviews = Reviews(client, HandClock())
        assert await reviews.admit("Bearer good") is HTTPStatus.OK
        unknown = asyncio.create_task(reviews.admit("Bearer slow"))
        await held.wait()
        assert await reviews.admit("Bearer good") is HTTPStatus.OK
        assert not unknown.done()
        answers.set()
        assert await unknown is HTTPStatus.UNAUTHORIZED


async def test_without_the_api_server_nobody_reads(server: ScriptedServer, url: str) -> None:
    await server.stop()
    assert (await ask(url, Authorization="Bearer good")).status == 503


async def test_a_certificate_is_taken_over_when_it_appears_and_when_it_changes(
    url: str, tmp_path: Path
) -> None:
    """First one that nobody signed, as long as there is none."""
    now = datetime.now(UTC)
    root = authority.create("root", now)
    trusting = ssl.create_default_context(cadata=root.certificate_pem.decode())
    for name in ("first", "second"):
        pair = root.server(name, ["127.0.0.1", name], now)
        (tmp_path / "tls.key").write_bytes(pair.key)
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        async with asyncio.timeout(30):
            while name not in await presented(url, trusting):
                pass


async def presented(url: str, context: ssl.SSLContext) -> str:
    """Names in the certificate; none for one that is not trusted."""
    port = int(url.split(":")[2].removesuffix("/metrics"))
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    except ssl.SSLError:
        return ""
    found = str(writer.get_extra_info("peercert")["subjectAltName"])
    writer.close()
    return found


def test_a_pair_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("nonsense")
    with pytest.raises(InvalidInput, match="the serving certificate cannot be used") as caught:
        Exposition(None, Secure(Address("127.0.0.1", 0), tmp_path, Cluster(server="https://nowhere")))
    assert str(tmp_path / "tls.crt") in caught.value.path


def test_what_makes_certificates_is_not_kept(tmp_path: Path) -> None:
    """It is a fourth of what a daemon takes. As in an image, nothing but its own path tells the program where
    its parts are."""
    code = (
        "import sys, pathlib\n"
        f"sys.path[:] = {sys.path}\n"
        "from mco.kube.config import Cluster\n"
        "from mco.kube.exposition import Exposition, Secure\n"
        "from mco.runtime.scraping import Address\n"
        "secure = Secure(Address('127.0.0.1', 0), pathlib.Path(sys.argv[1]), Cluster(server='http://x'))\n"
        "Exposition(None, secure)\n"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert (
        subprocess.run(
            [str(Path(sys.executable).resolve()), "-I", "-S", "-c", code, str(tmp_path)], check=False
        ).returncode
        == 0
    )


def test_a_port_that_is_taken_names_the_flag(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(Unavailable) as caught:
            Exposition(None, Secure(address, tmp_path, Cluster(server="https://nowhere")))
    assert "--metrics-secure-listen" in caught.value.hint
