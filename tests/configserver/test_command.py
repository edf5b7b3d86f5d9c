"""The config server and the token command as programs, against the embedded API server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mco.api import names
from mco.configserver.limits import Limits
from tests.configserver.clients import ask, connected
from tests.configserver.installation import Installation, files, ignition, installation

IGNITION = "application/vnd.coreos.ignition+json;version=3.5.0"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Installation]:
    async with installation(tmp_path) as made:
        yield made


async def mco(*argv: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "mco.cli.main",
        *argv,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


class Program:
    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.port = port

    async def until_it_says(self, text: str) -> None:
        assert self.process.stderr is not None
        async with asyncio.timeout(20):
            while line := await self.process.stderr.readline():
                if text in line.decode():
                    return
        pytest.fail(f"it ended and never said {text!r}")


@contextlib.asynccontextmanager
async def config_server(cluster: Installation, *argv: str) -> AsyncIterator[Program]:
    port = free_port()
    listeners = cluster.listeners(Limits())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "mco.cli.main",
        "configserver",
        "start",
        f"--kubeconfig={cluster.folder / 'api' / 'kubeconfig'}",
        "--apiserver-url=https://api-int.example.org:6443",
        "--bind=127.0.0.1",
        "--secure-port=0",
        f"--insecure-port={port}",
        f"--cert={listeners.certificate}",
        f"--key={listeners.key}",
        f"--bootstrap-token-dir={cluster.tokens}",
        *argv,
        stderr=asyncio.subprocess.PIPE,
    )
    program = Program(process, port)
    try:
        await program.until_it_says('"tls":false')
        yield program
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_it_serves_and_ends_cleanly_on_sigterm(cluster: Installation) -> None:
    big = {"ignition": {"version": "3.5.0"}, "storage": {"files": []}} | ignition("/etc/big", "x" * 900_000)
    await cluster.machine_config("rendered-worker-2", big)
    await cluster.pool("worker", "rendered-worker-2")
    async with config_server(cluster) as program, connected(program.port) as wire:
        await wire.send("GET", "/config/worker", Accept=IGNITION)
        await wire.reader.readexactly(1000)
        program.process.send_signal(signal.SIGTERM)
        await program.until_it_says("stopping")
        # The answer under way is finished all the same.
        rest = await wire.reader.read()
        assert rest.rstrip().endswith(b"}")
        assert len(rest) > 1_800_000
        async with asyncio.timeout(10):
            assert await program.process.wait() == 0


async def test_tokens_from_the_command_line_let_machines_in(cluster: Installation) -> None:
    kubeconfig = f"--kubeconfig={cluster.folder / 'api' / 'kubeconfig'}"
    async with config_server(cluster, "--require-token") as program:
        code, token, _ = await mco("token", "create", kubeconfig, "--pool=worker", "--ttl=1h", "--machine=w1")
        assert code == 0
        bearer = f"Bearer {token.strip()}"
        answer = await ask(program.port, "GET", "/config/worker", None, Accept=IGNITION, Authorization=bearer)
        assert answer.status == 200
        assert token.strip() in files(answer.body)[names.KUBECONFIG_FILE]["contents"]["source"]
        code, listed, _ = await mco("token", "list", kubeconfig)
        assert code == 0
        token_id, secret = token.strip().split(".")
        row = listed.splitlines()[1].split()
        assert (row[0], row[1], row[2], row[4]) == (token_id, "worker", "w1", "no")
        assert secret not in listed
        code, _, _ = await mco("token", "delete", kubeconfig, token_id)
        assert code == 0
        async with asyncio.timeout(10):
            while answer.status != 401:
                answer = await ask(
                    program.port, "GET", "/config/worker", None, Accept=IGNITION, Authorization=bearer
                )
        code, listed, _ = await mco("token", "list", kubeconfig, "-o", "json")
        assert (code, json.loads(listed)) == (0, [])


async def test_a_token_for_a_pool_that_is_not_there_yet_is_made_with_a_warning(cluster: Installation) -> None:
    kubeconfig = f"--kubeconfig={cluster.folder / 'api' / 'kubeconfig'}"
    code, out, err = await mco("token", "create", kubeconfig, "--pool=edge", "--ttl=0", "-o", "json")
    made = json.loads(out)
    assert (code, made["pool"], made["expires"]) == (0, "edge", "never")
    assert made["token"].startswith(f"{made['id']}.")
    assert "edge" in err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("token", "create", "--pool=worker", "--ttl=soon"), "is not a duration"),
        (("token", "create", "--pool=UPPER"), "not a valid pool name"),
        (("configserver", "start"), "--apiserver-url"),
        (("configserver", "bootstrap", "--bootstrap-kubeconfig=/nowhere"), "/nowhere"),
    ],
)
async def test_wrong_usage_is_said_and_fails(cluster: Installation, argv: tuple[str, ...], said: str) -> None:
    kubeconfig = f"--kubeconfig={cluster.folder / 'api' / 'kubeconfig'}"
    code, _, err = await mco(*argv, *([kubeconfig] if argv[0] == "token" else []))
    assert code in (1, 2)
    assert said in err


async def test_an_unusable_certificate_is_named(cluster: Installation) -> None:
    kubeconfig = f"--kubeconfig={cluster.folder / 'api' / 'kubeconfig'}"
    code, _, err = await mco(
        "configserver", "start", kubeconfig, "--apiserver-url=https://x", "--cert=/nowhere/tls.crt"
    )
    assert code == 1
    assert "/nowhere/tls.crt" in err
    assert "hint:" in err
