"""The servers under test as endpoints."""

from __future__ import annotations

import abc
import signal
import socket
from pathlib import Path

from mco.apiserver import credentials
from mco.apiserver.server import Running
from tests.contract.apiserver.embedded import Process
from tests.contract.apiserver.endpoint import Endpoint
from tests.servers.real import RealServer


class EmbeddedEndpoint(Endpoint):
    def __init__(self, server: Running) -> None:
        self._server = server

    @property
    def is_real(self) -> bool:
        return False

    @property
    def kubeconfig(self) -> Path:
        return self._server.kubeconfig

    def mint_kubeconfig(self, user: str, *groups: str) -> bytes:
        return credentials.mint_kubeconfig(self.kubeconfig.parent, user, groups)

    def start_controllers(self) -> None:
        """It has them inside."""

    def restart_controllers(self) -> None:
        """They look up each kind anew."""

    def forget_history(self, revision: int) -> None:
        self._server.core.store.compact(revision)


class RealEndpoint(Endpoint):
    def __init__(self, server: RealServer) -> None:
        self._server = server

    @property
    def is_real(self) -> bool:
        return True

    @property
    def kubeconfig(self) -> Path:
        return self._server.kubeconfig

    def mint_kubeconfig(self, user: str, *groups: str) -> bytes:
        return self._server.mint_kubeconfig(user, *groups)

    def start_controllers(self) -> None:
        self._server.start_controllers()

    def restart_controllers(self) -> None:
        self._server.restart_controllers()

    def forget_history(self, revision: int) -> None:
        self._server.forget_history(revision)


class Killable(abc.ABC):
    """A server that can be killed, and comes back at the same place with what it had."""

    is_real: bool
    kubeconfig: Path

    @abc.abstractmethod
    def start_controllers(self) -> None:
        """As of an Endpoint."""

    @abc.abstractmethod
    def kill(self) -> None:
        """No farewell to anybody."""

    @abc.abstractmethod
    def start(self) -> None:
        """Returns when it answers."""


class KillableProcess(Killable):
    """The embedded server, on a folder of its own."""

    is_real = False

    def __init__(self, folder: Path) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.start()

    def start_controllers(self) -> None:
        """It has them inside."""

    def kill(self) -> None:
        self._process.end(signal.SIGKILL)
        self._process.output()

    def start(self) -> None:
        self._process = Process(self._folder, self._port)
        assert self._process.kubeconfig == self.kubeconfig


class KillableServer(Killable):
    is_real = True

    def __init__(self, server: RealServer) -> None:
        self.kubeconfig = server.kubeconfig
        self._server = server

    def start_controllers(self) -> None:
        self._server.start_controllers()

    def kill(self) -> None:
        self._server.stop_apiserver(kill=True)

    def start(self) -> None:
        self._server.start_apiserver()
