"""Command lines of a control plane whose programs run side by side on one host, over one folder.

    FOLDER/ca.crt, ca.key               signs servers, clients and kubelets
    FOLDER/apiserver.crt, apiserver.key
    FOLDER/kubelets.crt, kubelets.key   with which the API server asks kubelets for logs and to execute
    FOLDER/accounts.crt, accounts.key   signs the tokens of service accounts
    FOLDER/store/                       an authority for etcd alone, and what it signed: who reads etcd is
                                        everybody, and other users of the host reach the loopback interface
    FOLDER/etcd/                        the data

Everything else comes from whoever starts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from mco.lab.kubernetes.programs import Programs
from mco.pki import authority, files
from mco.pki.authority import Authority, Pair
from mco.runtime.clock import Clock

ISSUER = "https://kubernetes.default.svc"
MASTERS = "system:masters"


class ControlPlane(msgspec.Struct, frozen=True, kw_only=True):
    """etcd listens on the loopback interface only. `services` is the range (CIDR) of service addresses,
    whose first one is the API server's own."""

    programs: Programs
    folder: Path
    address: str
    port: int
    etcd_port: int
    peer_port: int
    services: str

    @property
    def url(self) -> str:
        return f"https://{self.address}:{self.port}"

    @property
    def etcd_url(self) -> str:
        return f"https://127.0.0.1:{self.etcd_port}"

    @property
    def store(self) -> Path:
        """`ca.crt`, and a pair `client` for whoever may read and write everything."""
        return self.folder / "store"

    def etcd(self, *more: str) -> tuple[str, ...]:
        peers = f"https://127.0.0.1:{self.peer_port}"
        trusted = self.store / "ca.crt"
        return (
            str(self.programs["etcd"]),
            f"--data-dir={self.folder / 'etcd'}",
            "--name=etcd",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=etcd={peers}",
            "--client-cert-auth",
            f"--trusted-ca-file={trusted}",
            f"--cert-file={self.store / 'server.crt'}",
            f"--key-file={self.store / 'server.key'}",
            # For its own way from JSON to itself.
            f"--client-cert-file={self.store / 'client.crt'}",
            f"--client-key-file={self.store / 'client.key'}",
            "--peer-client-cert-auth",
            f"--peer-trusted-ca-file={trusted}",
            f"--peer-cert-file={self.store / 'server.crt'}",
            f"--peer-key-file={self.store / 'server.key'}",
            *more,
        )

    def apiserver(self, *more: str) -> tuple[str, ...]:
        return (
            str(self.programs["kube-apiserver"]),
            f"--etcd-servers={self.etcd_url}",
            f"--etcd-cafile={self.store / 'ca.crt'}",
            f"--etcd-certfile={self.store / 'client.crt'}",
            f"--etcd-keyfile={self.store / 'client.key'}",
            f"--bind-address={self.address}",
            f"--secure-port={self.port}",
            f"--cert-dir={self.folder}",
            f"--tls-cert-file={self.folder / 'apiserver.crt'}",
            f"--tls-private-key-file={self.folder / 'apiserver.key'}",
            f"--client-ca-file={self.folder / 'ca.crt'}",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={self.folder / 'accounts.crt'}",
            f"--service-account-signing-key-file={self.folder / 'accounts.key'}",
            "--authorization-mode=Node,RBAC",
            "--enable-bootstrap-token-auth",
            f"--service-cluster-ip-range={self.services}",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged",
            # Watches end with it at once: nobody waits for a load balancer.
            "--shutdown-delay-duration=0s",
            *more,
        )

    def towards_kubelets(self) -> tuple[str, ...]:
        """What an API server needs besides to reach nodes, whose names nobody resolves. They serve with
        certificates that they made themselves."""
        return (
            f"--kubelet-client-certificate={self.folder / 'kubelets.crt'}",
            f"--kubelet-client-key={self.folder / 'kubelets.key'}",
            "--kubelet-preferred-address-types=InternalIP",
        )

    def controller_manager(self, kubeconfig: Path, *more: str) -> tuple[str, ...]:
        """There is one: it does not wait for a lease."""
        return (
            str(self.programs["kube-controller-manager"]),
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            "--secure-port=0",
            *more,
        )

    def signing(self) -> tuple[str, ...]:
        """What a controller manager needs besides to let nodes and pods in."""
        return (
            f"--root-ca-file={self.folder / 'ca.crt'}",
            f"--cluster-signing-cert-file={self.folder / 'ca.crt'}",
            f"--cluster-signing-key-file={self.folder / 'ca.key'}",
            f"--service-account-private-key-file={self.folder / 'accounts.key'}",
            "--use-service-account-credentials",
        )

    def scheduler(self, kubeconfig: Path) -> tuple[str, ...]:
        return (
            str(self.programs["kube-scheduler"]),
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--secure-port=0",
        )

    def write_keys(self, signer: Authority, names: Sequence[str], clock: Clock) -> None:
        """A serving certificate for `names` and the others, new at each call, and the key of service
        accounts, once: tokens outlive a restart."""
        now = clock.now()
        self._write("apiserver", signer.server("apiserver", names, now))
        self._write("kubelets", signer.client("apiserver-kubelet-client", [MASTERS], now))
        store = authority.load_or_create(files.private_folder(self.store), "etcd-authority", now)
        self._write("store/server", store.server("etcd", ["127.0.0.1"], now))
        self._write("store/client", store.client("apiserver", [], now))
        if not (self.folder / "accounts.crt").exists():
            self._write("accounts", signer.client("accounts", [], now))

    def _write(self, name: str, pair: Pair) -> None:
        files.write(self.folder / f"{name}.key", pair.key)
        files.write(self.folder / f"{name}.crt", pair.certificate)
