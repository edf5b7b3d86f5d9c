"""A real API server of its own for installations: what they put there would be in everybody else's way."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.requests import PatchKind
from mco.kube.wholes import NoSuchKind, Wholes
from mco.payload.manifest import Manifest
from mco.payload.situation import body_of
from mco.runtime import version
from tests.servers.real import RealServer

T = TypeVar("T")
PATIENCE = 90


class Done(msgspec.Struct):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def mco(kubeconfig: Path, *argv: str) -> Done:
    """The program, from its start to its end."""
    command = _command(kubeconfig, *argv)
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def _command(kubeconfig: Path, *argv: str) -> list[str]:
    return [sys.executable, "-m", "mco.cli.main", *argv, f"--kubeconfig={kubeconfig}"]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Cluster:
    """`folder` is for files of the test."""

    def __init__(self, server: RealServer, folder: Path) -> None:
        self.server = server
        self.folder = folder

    def mco(self, *argv: str) -> Done:
        return mco(self.server.kubeconfig, *argv)

    def command(self, *argv: str, kubeconfig: Path) -> list[str]:
        return _command(kubeconfig, *argv)

    def start(self, *argv: str) -> subprocess.Popen[str]:
        command = _command(self.server.kubeconfig, *argv)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask(self, question: Callable[[Client], Awaitable[T]], kubeconfig: Path | None = None) -> T:
        async def asked() -> T:
            async with Client(load(kubeconfig or self.server.kubeconfig)) as client:
                return await question(client)

        return asyncio.run(asked())

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        async def question(client: Client) -> dict[str, Any] | None:
            try:
                return await Wholes(client).get(body_of(api_version, kind, name, namespace))
            except NoSuchKind:
                return None

        return self.ask(question)

    def has(self, manifest: Manifest) -> bool:
        body = manifest.body
        found = self.get(
            body["apiVersion"], manifest.kind, manifest.identity.name, manifest.identity.namespace
        )
        return found is not None

    def create(self, body: Mapping[str, Any]) -> None:
        self.ask(lambda client: Wholes(client).create(body))

    def patch(self, body: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        self.ask(lambda client: Wholes(client).patch(body, changes))

    def delete(self, body: Mapping[str, Any]) -> None:
        self.ask(lambda client: Wholes(client).delete(body))

    def report(self, number: str, image: str) -> None:
        """What the operator says when it is through."""
        status = {
            "versions": [
                {"name": "operator", "version": number},
                {"name": "operator-image", "version": image},
            ],
            "conditions": [
                {"type": kind, "status": value, "lastTransitionTime": "2026-01-01T00:00:00Z"}
                for kind, value in (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"))
            ],
        }
        path = "/apis/config.openshift.io/v1/clusteroperators/machine-config/status"
        self.patch_at(path, {"status": status})

    def patch_at(self, path: str, changes: Mapping[str, Any]) -> None:
        self.ask(lambda c: c.request("PATCH", path, body=changes, content_type=PatchKind.MERGE))

    def of_version(self, number: str, files: Mapping[str, bytes]) -> Path:
        """The payload of another version, as a folder."""
        folder = self.folder / f"payload-{number}"
        folder.mkdir()
        for name, text in files.items():
            changed = text.replace(version.RAW.encode(), number.encode()) if ".crd." not in name else text
            (folder / name).write_bytes(changed)
        return folder
