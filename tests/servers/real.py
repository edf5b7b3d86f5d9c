"""A real kube-apiserver with etcd on free ports of the loopback interface, with certificates of our own.

Nobody runs controllers beside it until a test asks for them: kube-controller-manager collects garbage, ends
namespaces and keeps PodDisruptionBudgets up to date.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import ssl
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mco.lab.kubernetes.controlplane import MASTERS, ControlPlane
from mco.pki import authority, files, kubeconfig
from mco.runtime.clock import SystemClock
from tests.servers.assets import Assets, absent
from tests.servers.child import Child

ADMIN = "mco:admin"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "namespace-controller",
)


class RealServer:
    """`folder` is empty at first; `kubeconfig` is an administrator's. What a test wrote need not survive a
    crash of the machine; `durable` is for who measures what it costs when it must."""

    def __init__(
        self, assets: Assets, folder: Path, *, durable: bool = False, flags: Sequence[str] = ()
    ) -> None:
        self._assets = assets
        self._flags = tuple(flags)
        self._durable = durable
        self.folder = folder
        self.port, etcd_port, peer_port = _free_ports(3)
        self._plane = ControlPlane(
            programs=assets.programs,
            folder=folder,
            address="127.0.0.1",
            port=self.port,
            etcd_port=etcd_port,
            peer_port=peer_port,
            services="10.0.0.0/24",
        )
        self.authority = authority.load_or_create(files.private_folder(folder), "tests", datetime.now(UTC))
        self.renew_certificate()
        self.kubeconfig = folder / "kubeconfig"
        files.write(self.kubeconfig, self.mint_kubeconfig(ADMIN, MASTERS))
        self._context = self.client_context(ADMIN, MASTERS)
        self._etcd: Child | None = None
        self._apiserver: Child | None = None
        self._controllers: Child | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def pids(self) -> list[int]:
        """Of the API server and of etcd, while they run."""
        return [child.pid for child in (self._apiserver, self._etcd) if child is not None]

    def mint_kubeconfig(self, user: str, *groups: str, url: str = "") -> bytes:
        """For somebody with a client certificate; `url` is another way to the server."""
        pair = self.authority.client(user, groups, datetime.now(UTC))
        return kubeconfig.with_certificate(url or self.url, self.authority.certificate_pem, user, pair)

    def renew_certificate(self) -> None:
        """Another serving certificate of the same authority; a server that starts takes it."""
        self._plane.write_keys(self.authority, ["127.0.0.1", "localhost"], SystemClock())

    def client_context(self, user: str, *groups: str) -> ssl.SSLContext:
        """For connections as that user."""
        pair = self.authority.client(user, groups, datetime.now(UTC))
        context = ssl.create_default_context(cadata=self.authority.certificate_pem.decode())
        with tempfile.NamedTemporaryFile() as file:
            file.write(pair.certificate + pair.key)
            file.flush()
            context.load_cert_chain(file.name)
        return context

    def start(self) -> None:
        fast = () if self._durable else ("--unsafe-no-fsync",)
        self._etcd = Child(self._plane.etcd(*fast), self.folder / "etcd.log")
        self._etcd.until(self._etcd_answers)
        self.start_apiserver()

    def start_apiserver(self) -> None:
        # Nobody here makes service accounts, or takes the taint from a new node that is ready.
        alone = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"
        self._apiserver = Child(self._plane.apiserver(alone, *self._flags), self.folder / "apiserver.log")
        self._apiserver.until(self._is_ready)

    def stop_apiserver(self, *, kill: bool = False) -> None:
        if self._apiserver is not None:
            if kill:
                self._apiserver.kill()
            else:
                self._apiserver.stop()
            self._apiserver = None

    def stop(self) -> None:
        """Who asks somebody goes before him: the controllers, the API server, etcd."""
        if self._controllers is not None:
            self._controllers.stop()
        self.stop_apiserver()
        if self._etcd is not None:
            self._etcd.stop()

    def start_controllers(self) -> None:
        """Runs kube-controller-manager from now on, if it does not yet."""
        if self._controllers is not None:
            return
        if not self._assets.has_controllers:
            absent("no kube-controller-manager in KUBEBUILDER_ASSETS; unset it and run `make servers`")
        few = f"--controllers={','.join(CONTROLLERS)}"
        command = self._plane.controller_manager(self.kubeconfig, few)
        self._controllers = Child(command, self.folder / "controllers.log")

    def restart_controllers(self) -> None:
        """They learn what kinds there are when they start, and then every half a minute."""
        if self._controllers is not None:
            self._controllers.kill()
            self._controllers = None
        self.start_controllers()

    def forget_history(self, revision: int) -> None:
        """Compacts etcd and restarts the API server, whose cache of the past goes with it."""
        self._etcd_call("kv/compaction", {"revision": revision, "physical": True})
        self.stop_apiserver()
        self.start_apiserver()

    def stored(self, prefix: str) -> dict[str, int]:
        """How often what is stored below a prefix of etcd's keys was written, by its name."""
        first = prefix.encode()
        after = first[:-1] + bytes([first[-1] + 1])
        keys = {key: base64.b64encode(text).decode() for key, text in (("key", first), ("range_end", after))}
        found = self._etcd_call("kv/range", {**keys, "keys_only": True}).get("kvs") or ()
        return {
            base64.b64decode(each["key"]).decode().rpartition("/")[2]: int(each["version"]) for each in found
        }

    def _etcd_call(self, method: str, body: object) -> Any:
        request = urllib.request.Request(f"{self._plane.etcd_url}/v3/{method}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10, context=self._etcd_context()) as response:
            return json.load(response)

    def _etcd_answers(self) -> bool:
        url = f"{self._plane.etcd_url}/health"
        try:
            with urllib.request.urlopen(url, timeout=5, context=self._etcd_context()) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def _etcd_context(self) -> ssl.SSLContext:
        store = self._plane.store
        context = ssl.create_default_context(cafile=str(store / "ca.crt"))
        context.load_cert_chain(store / "client.crt", store / "client.key")
        return context

    def _is_ready(self) -> bool:
        paths = ["/readyz", *(f"/api/v1/namespaces/{name}" for name in NAMESPACES)]
        return all(self._asked(path) == 200 for path in paths)

    def _asked(self, path: str) -> int:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self._context, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()


@contextlib.contextmanager
def real_server(assets: Assets, folder: Path, *flags: str) -> Iterator[RealServer]:
    """`flags` are more of the API server's."""
    server = RealServer(assets, folder, flags=flags)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]
