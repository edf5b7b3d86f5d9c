"""API servers as benchmarks see them: started until they are ready, and the processes that they are."""

from __future__ import annotations

import abc
import base64
import http.client
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import yaml

from bench.installation import memory
from tests.servers.assets import Assets
from tests.servers.real import RealServer

START_SECONDS = 60.0


class Subject(abc.ABC):
    """`folder` keeps what it stores, from one start to the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    @property
    @abc.abstractmethod
    def kubeconfig(self) -> Path: ...

    @property
    @abc.abstractmethod
    def pids(self) -> list[int]: ...

    @abc.abstractmethod
    def start(self) -> float:
        """Seconds until it is ready."""

    @abc.abstractmethod
    def stop(self) -> None: ...

    @property
    def address(self) -> str:
        """`host:port`."""
        document = yaml.safe_load(self.kubeconfig.read_bytes())
        return str(document["clusters"][0]["cluster"]["server"]).removeprefix("https://")

    def write_keys(self) -> Path:
        """A file with the administrator's certificate and key."""
        user = yaml.safe_load(self.kubeconfig.read_bytes())["users"][0]["user"]
        pem = b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key"))
        path = self.folder / "admin.pem"
        path.write_bytes(pem)
        return path

    def memory(self) -> float:
        """MiB of all its processes."""
        return sum(map(memory, self.pids))


class Embedded(Subject):
    _process: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def pids(self) -> list[int]:
        return [self._process.pid] if self._process else []

    def start(self) -> float:
        self.kubeconfig.unlink(missing_ok=True)
        command = [sys.executable, "-m", "mco.cli.main", "apiserver"]
        command += [f"--data-dir={self.folder}", "--port=0", "--log-level=error"]
        began = time.monotonic()
        self._process = subprocess.Popen(command)
        while not (self.kubeconfig.exists() and _is_ready(self.address)):
            if time.monotonic() > began + START_SECONDS or self._process.poll() is not None:
                raise RuntimeError("the embedded API server does not start")
            time.sleep(0.01)
        return time.monotonic() - began

    def stop(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
            self._process = None


class Real(Subject):
    def __init__(self, assets: Assets, folder: Path) -> None:
        super().__init__(folder)
        self._server = RealServer(assets, folder, durable=True)

    @property
    def kubeconfig(self) -> Path:
        return self._server.kubeconfig

    @property
    def pids(self) -> list[int]:
        return self._server.pids

    def start(self) -> float:
        began = time.monotonic()
        self._server.start()
        return time.monotonic() - began

    def stop(self) -> None:
        self._server.stop()


def _is_ready(address: str) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(address, context=context, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
