"""Credentials that change under a running client: certificates, tokens, plugins. Real TLS on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api.resources import NODES
from mco.base.errors import InvalidInput, MCOError, Unavailable
from mco.kube.client import Client
from mco.kube.config import Cluster, ExecPlugin, Material, User
from mco.kube.errors import Unauthorized, Unreachable
from mco.kube.http import HTTPTransport
from mco.pki import authority
from mco.pki.authority import Authority, Pair
from mco.runtime.virtual import VirtualClock
from tests.kube.scripted import Answer, Asked, ScriptedServer, Wire, in_virtual_time, node, scripted

NOW = datetime.now(UTC)
CA = authority.create("test", NOW)
OTHER_CA = authority.create("other", NOW)


def server_context(folder: Path, ca: Authority = CA) -> ssl.SSLContext:
    """Asks for a client certificate and takes any that `CA` signed, or none."""
    pair = ca.server("api", ["127.0.0.1", "api.test"], NOW)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    write_pair(folder / "server", pair)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    context.load_verify_locations(cadata=CA.certificate_pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def write_pair(base: Path, pair: Pair) -> None:
    base.with_suffix(".key").write_bytes(pair.key)
    base.with_suffix(".crt").write_bytes(pair.certificate)


def identity(base: Path) -> User:
    return User(
        certificate=Material(file=str(base.with_suffix(".crt"))),
        key=Material(file=str(base.with_suffix(".key"))),
    )


def common_name(asked: Asked) -> str:
    subject = dict(pair[0] for pair in (asked.peer or {}).get("subject", ()))
    return str(subject.get("commonName", ""))


async def one_node(_: Asked, wire: Wire) -> None:
    await wire.json(node("w1", 7))


@contextlib.asynccontextmanager
async def secured(
    folder: Path, user: User, answer: Answer = one_node, **cluster: Any
) -> AsyncIterator[tuple[ScriptedServer, Client]]:
    async with scripted(answer, server_context(folder)) as server:
        trusted = msgspec.structs.replace(
            server.cluster, ca=Material(data=CA.certificate_pem), user=user, **cluster
        )
        async with Client(trusted) as client:
            yield server, client


@in_virtual_time
async def test_a_rotated_certificate_is_used_by_the_next_request_while_watches_live_on(
    tmp_path: Path,
) -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.watches:
            await wire.start_stream()
            await wire.event("ADDED", node("before", 8))
            await release.wait()
            await wire.event("ADDED", node("after", 9))
            await wire.end_stream()
        else:
            await wire.json(node("w1", 7))

    release = asyncio.Event()
    base = tmp_path / "node"
    write_pair(base, CA.client("first", [], NOW))
    async with secured(tmp_path, identity(base), answer) as (server, client):
        await client.get(NODES, "w1")
        async with aclosing(client.watch(NODES, resource_version="7")) as events:
            assert (await anext(events)).object.name == "before"
            write_pair(base, CA.client("second", [], NOW))
            await client.get(NODES, "w1")
            await client.get(NODES, "w1")
            release.set()
            assert [event.object.name async for event in events] == ["after"]
        assert [common_name(asked) for asked in server.asked] == ["first", "first", "second", "second"]


@in_virtual_time
async def test_half_a_rotation_leaves_the_former_pair_in_use(tmp_path: Path) -> None:
    base = tmp_path / "node"
    write_pair(base, CA.client("first", [], NOW))
    second = CA.client("second", [], NOW)
    async with secured(tmp_path, identity(base)) as (server, client):
        await client.get(NODES, "w1")
        base.with_suffix(".crt").write_bytes(second.certificate)
        await client.get(NODES, "w1")
        base.with_suffix(".key").write_bytes(second.key)
        await client.get(NODES, "w1")
        assert [common_name(asked) for asked in server.asked] == ["first", "first", "second"]


@in_virtual_time
async def test_inline_material_works_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    pair = CA.client("inline", [], NOW)
    user = User(certificate=Material(data=pair.certificate), key=Material(data=pair.key))
    async with secured(tmp_path, user) as (server, client):
        await client.get(NODES, "w1")
        assert common_name(server.asked[0]) == "inline"
    assert list(scratch.iterdir()) == []


@in_virtual_time
async def test_another_authoritys_server_is_not_believed(tmp_path: Path) -> None:
    async with scripted(one_node, server_context(tmp_path, OTHER_CA)) as server:
        for verify in (True, False):
            cluster = msgspec.structs.replace(
                server.cluster, ca=Material(data=CA.certificate_pem), verify=verify
            )
            async with Client(cluster) as client:
                if verify:
                    with pytest.raises(Unreachable, match="certificate verify failed") as caught:
                        await client.get(NODES, "w1")
                    assert "certificate authority" in caught.value.hint
                    assert server.asked == []
                else:
                    await client.get(NODES, "w1")


@in_virtual_time
async def test_the_servers_name_may_differ_from_its_address(tmp_path: Path) -> None:
    async with secured(tmp_path, User(), tls_server_name="api.test") as (_, client):
        await client.get(NODES, "w1")
    async with secured(tmp_path, User(), tls_server_name="other.test") as (_, client):
        with pytest.raises(Unreachable, match=r"other\.test"):
            await client.get(NODES, "w1")


@pytest.mark.parametrize(
    ("user", "message"),
    [
        (User(certificate=Material(data=b"x"), key=Material(data=b"y")), "do not fit together"),
        (
            User(certificate=Material(data=CA.client("a", [], NOW).certificate), key=Material(data=b"")),
            "do not fit",
        ),
    ],
)
def test_a_pair_that_is_none_is_refused_before_any_request(user: User, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        HTTPTransport(Cluster(server="https://127.0.0.1:1", user=user))


def test_an_authority_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("hello")
    with pytest.raises(InvalidInput) as caught:
        HTTPTransport(Cluster(server="https://127.0.0.1:1", ca=Material(file=str(tmp_path / "ca.crt"))))
    assert caught.value.path == str(tmp_path / "ca.crt")


class Program:
    """A credential plugin: a shell script that prints `answer` and counts its runs."""

    def __init__(self, folder: Path) -> None:
        self._path, self._answer, self._runs = folder / "plugin", folder / "answer", folder / "runs"
        self._path.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$KUBERNETES_EXEC_INFO" >> {self._runs}\n'
            f"cat {self._answer}\nexit $EXIT\n"
        )
        self._path.chmod(self._path.stat().st_mode | stat.S_IXUSR)

    def answers(self, version: str = "v1", **status: str) -> None:
        name = f"client.authentication.k8s.io/{version}"
        self._answer.write_text(json.dumps({"apiVersion": name, "kind": "ExecCredential", "status": status}))

    def prints(self, text: str) -> None:
        self._answer.write_text(text)

    @property
    def runs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._runs.read_text().splitlines()]

    def user(self, version: str = "v1", exit_code: int = 0) -> User:
        return User(
            plugin=ExecPlugin(
                command=(str(self._path),),
                api_version=f"client.authentication.k8s.io/{version}",
                environment=(("EXIT", str(exit_code)),),
                cluster_info=True,
            )
        )


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def only(token: str) -> Answer:
    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.headers.get("authorization") == f"Bearer {token}":
            await wire.json(node("w1", 7))
        else:
            await wire.status(401, "Unauthorized", "Unauthorized")

    return answer


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_plugin_is_run_once_and_again_when_its_token_is_refused(
    program: Program, version: str
) -> None:
    program.answers(version, token="one")
    async with scripted(only("one")) as server:
        cluster = msgspec.structs.replace(server.cluster, user=program.user(version))
        async with Client(cluster) as client:
            await client.get(NODES, "w1")
            await client.get(NODES, "w1")
            assert len(program.runs) == 1
            assert program.runs[0]["spec"] == {"interactive": False, "cluster": {"server": cluster.server}}
            server.answer = only("two")
            program.answers(version, token="two")
            await client.get(NODES, "w1")
            assert len(program.runs) == 2
            server.answer = only("three")
            with pytest.raises(Unauthorized):
                await client.get(NODES, "w1")


async def test_a_plugin_is_run_again_shortly_before_its_credential_expires(program: Program) -> None:
    program.answers(token="one", expirationTimestamp="2026-01-01T00:10:00Z")
    times = iter(["2026-01-01T00:00:00Z", "2026-01-01T00:09:00Z", "2026-01-01T00:09:35Z"])

    class Clock(VirtualClock):
        def now(self) -> datetime:
            return datetime.fromisoformat(next(times))

    async with scripted(only("one")) as server:
        cluster = msgspec.structs.replace(server.cluster, user=program.user())
        async with Client(HTTPTransport(cluster, clock=Clock())) as client:
            for runs in (1, 1, 1, 2):
                await client.get(NODES, "w1")
                assert len(program.runs) == runs


async def test_a_plugins_certificate_identifies_us(program: Program, tmp_path: Path) -> None:
    pair = CA.client("from-plugin", [], NOW)
    program.answers(clientCertificateData=pair.certificate.decode(), clientKeyData=pair.key.decode())
    async with secured(tmp_path, program.user()) as (server, client):
        await client.get(NODES, "w1")
        assert common_name(server.asked[0]) == "from-plugin"


@pytest.mark.parametrize(
    ("text", "exit_code", "kind", "message"),
    [
        ("hello", 0, InvalidInput, "did not print an ExecCredential"),
        ("", 0, InvalidInput, "did not print an ExecCredential"),
        ('{"apiVersion":"client.authentication.k8s.io/v1beta1"}', 0, InvalidInput, "answered in version"),
        ('{"apiVersion":"client.authentication.k8s.io/v1","status":{}}', 0, InvalidInput, "no credential"),
        (
            '{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t","expirationTimestamp":"soon"}}',
            0,
            InvalidInput,
            "expiry that is no time",
        ),
        ("", 3, Unavailable, "failed with exit code 3"),
    ],
)
async def test_a_plugin_that_misbehaves_is_named(
    program: Program, text: str, exit_code: int, kind: type[MCOError], message: str
) -> None:
    program.prints(text)
    cluster = Cluster(server="http://127.0.0.1:1", user=program.user(exit_code=exit_code))
    async with Client(cluster) as client:
        with pytest.raises(kind, match=message) as caught:
            await client.get(NODES, "w1")
        assert isinstance(caught.value, MCOError)
        assert caught.value.subject.endswith("/plugin")


async def test_a_missing_plugin_says_how_to_get_it() -> None:
    plugin = ExecPlugin(
        command=("/nonexistent/plugin",),
        api_version="client.authentication.k8s.io/v1",
        install_hint="install it",
    )
    async with Client(Cluster(server="http://127.0.0.1:1", user=User(plugin=plugin))) as client:
        with pytest.raises(InvalidInput) as caught:
            await client.get(NODES, "w1")
        assert caught.value.hint == "install it"


def test_an_old_plugin_version_is_refused_at_once() -> None:
    plugin = ExecPlugin(command=("p",), api_version="client.authentication.k8s.io/v1alpha1")
    with pytest.raises(InvalidInput, match="v1alpha1"):
        HTTPTransport(Cluster(server="http://127.0.0.1:1", user=User(plugin=plugin)))
