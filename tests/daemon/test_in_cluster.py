"""A daemon with the service account of its pod: a real process, which finds that where a kubelet puts it."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from datetime import UTC, datetime
from pathlib import Path

from mco.host.fake import FakeMachine
from mco.pki import authority
from tests.handover.processes import PATIENCE, Running
from tests.kube.scripted import Asked, Wire, scripted, serving
from tests.servers.assets import ROOT

REFUSED = "the API server refuses this identity"
PLACE = "/run/secrets/kubernetes.io/serviceaccount"
# In a mount namespace of its own.
IN_POD = f'mount -t tmpfs none /run && mkdir -p {PLACE} && mount --bind $ACCOUNT {PLACE} && exec "$@"'


async def daemon(account: Path, machine: Path, port: int) -> Running:
    command = ["-m", "mco.cli.main", "daemon", "start", f"--fake-host={machine}", "--node-name=refused"]
    process = await asyncio.create_subprocess_exec(
        *("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", IN_POD, "sh"),
        *(sys.executable, *command, "--in-cluster", "--register-node"),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        cwd=ROOT,
        env=os.environ
        | {"ACCOUNT": str(account)}
        | {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(port)},
    )
    return Running(process)


async def test_an_identity_that_is_refused_is_said_once_and_tried_again(tmp_path: Path) -> None:
    """Each attempt is made twice at once, in case the token was rotated just then."""
    attempts = 0
    three = asyncio.Event()

    async def refuse(asked: Asked, wire: Wire) -> None:
        nonlocal attempts
        attempts += asked.path == "/api/v1/nodes/refused"
        if attempts == 6:
            three.set()
        await wire.status(401, "Unauthorized", "Unauthorized")

    signer = authority.create("pod", datetime.now(UTC))
    account = tmp_path / "account"
    account.mkdir()
    (account / "ca.crt").write_bytes(signer.certificate_pem)
    (account / "token").write_text("refused")
    FakeMachine.create(tmp_path / "machine", hostname="refused").close()
    async with scripted(refuse, serving(signer)) as server:
        process = await daemon(account, tmp_path / "machine", server.port)
        try:
            async with asyncio.timeout(PATIENCE):
                await three.wait()
        finally:
            await process.end()
    messages = [line["message"] for _, line in process.lines]
    assert messages.count(REFUSED) == 1
    assert "the API server does not know this node any more" not in messages
