"""The servers under test as endpoints."""

from __future__ import annotations

from pathlib import Path

from mco.apiserver import credentials
from mco.apiserver.server import Running
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
