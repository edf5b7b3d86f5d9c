"""The components with the permissions that the payload gives them, and no others: a config reaches a node,
nobody is refused anything, and nobody was given what it does not use."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.base.errors import InvalidInput
from mco.host.fake.machine import FakeMachine
from mco.kube.client import Client
from mco.kube.requests import PatchKind
from mco.payload.image import NAME as IMAGE
from mco.payload.situation import body_of
from mco.payload.source import monitoring
from mco.payload.source.metadata import CONTROLLER, DAEMON, OPERATOR, SERVER
from mco.payload.source.permissions import GRANTS
from mco.payload.source.rules import Grants
from mco.payload.source.workloads import TLS_SECRET, images
from mco.pki import kubeconfig
from tests.payload import audit
from tests.payload.cluster import Cluster, until
from tests.scrape import Answer, ask, families
from tests.servers.assets import find
from tests.servers.child import Child
from tests.servers.real import real_server

NODE, GONE = "worker-0", "worker-1"
TEXT = "A config that a node came to have with few permissions\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("permissions")
    (folder / "server").mkdir()
    with real_server(find(), folder / "server", *audit.flags(folder)) as server:
        yield Cluster(server, folder)


@pytest.fixture(scope="module")
def seen(cluster: Cluster) -> list[audit.Request]:
    """What the components asked for while a config went from its creation to a node."""
    done = cluster.mco("install")
    assert done.code == 0, done.err
    labels = {f"{names.NODE_ROLE_PREFIX}worker": "", names.OS_LABEL: "linux"}
    for name in (NODE, GONE):
        cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    make_pods(cluster)
    with contextlib.ExitStack() as running:
        running.enter_context(component(cluster, OPERATOR, "operator", *operator_flags(cluster)))
        running.enter_context(
            component(cluster, CONTROLLER, "controller", "--settle=0", *listening(cluster, CONTROLLER))
        )
        running.enter_context(component(cluster, SERVER, "configserver", "start", *server_flags(cluster)))
        running.enter_context(machine(cluster))
        until(lambda: report(cluster) is not None)
        cluster.delete(body_of("v1", "Node", GONE))
        cluster.create(motd())
        until(lambda: updated(cluster))
        until(lambda: report(cluster) is None)
        metrics_are_read(cluster)
        lose_what_a_node_has(cluster)
        until(lambda: events(cluster) >= {"machineconfigdaemon", "machineconfigcontroller-nodecontroller"})
    return audit.requests(cluster.folder)


def test_nobody_is_refused(seen: list[audit.Request]) -> None:
    assert {request.component for request in seen} == {grants.component for grants in GRANTS}
    assert [request for request in seen if request.code == 403] == []


OPENSHIFT = "only in OpenShift"
REPAIR = "when somebody changed it"
OTHER_LEADER = "while another one leads"
AT_ONCE = "when two wrote at the same time"
ANYBODY = {
    "use securitycontextconstraints": OPENSHIFT,
    f"patch events in {names.NAMESPACE}": "when something happens again",
}
LEADERS = ANYBODY | {
    f"{verb} {resource} in {names.NAMESPACE}": OTHER_LEADER
    for verb in ("list", "watch")
    for resource in ("leases", "pods")
}
# What this story has no need of, and why it is granted.
UNUSED = {
    OPERATOR: LEADERS
    | {
        f"get {kind}": OPENSHIFT
        for kind in (
            *(
                "apiservers",
                "clusterversions",
                "dnses",
                "featuregates",
                "images",
                "networks",
                "provisionings",
                "proxies",
            ),
        )
    }
    | {
        f"get {kind} in {namespace}": OPENSHIFT
        for kind, namespace in (
            ("configmaps", "kube-system"),
            ("configmaps", "openshift-config"),
            ("configmaps", "openshift-config-managed"),
            ("configmaps", "openshift-kube-apiserver-operator"),
            ("secrets", "openshift-config"),
            ("secrets", names.NAMESPACE),
            ("serviceaccounts", names.NAMESPACE),
        )
    }
    | {f"{verb} secrets in openshift-machine-api": OPENSHIFT for verb in ("get", "create", "patch")}
    | {f"{verb} configmaps in openshift-config-managed": OPENSHIFT for verb in ("create", "patch")}
    | {
        f"patch {kind}": REPAIR
        for kind in ("controllerconfigs", "machineconfigpools", "machineconfigurations")
    }
    | {
        f"patch {kind} in {names.NAMESPACE}": REPAIR
        for kind in ("configmaps", "daemonsets", "deployments", "networkpolicies", "secrets")
    }
    | {
        "create clusteroperators": REPAIR,
        "get configmaps in kube-public": "without --apiserver-url",
        "get machineconfigs": "when a required pool has machines",
        "create machineconfigs": "an image was built before the cluster",
        "patch machineconfigs": REPAIR,
        "delete machineconfigs": "nobody wants that image any more",
    },
    CONTROLLER: LEADERS
    | {
        "delete machineconfigs": "an hour after nobody needs one any more",
        f"get configmaps in {names.NAMESPACE}": "before it deletes one",
        "list machineosbuilds": "before it deletes one",
        "get daemonsets": "a Pod of one is on the node",
        "list poddisruptionbudgets": "an eviction is refused",
        "get machineconfigs": "what the cache does not have yet",
        "get machineconfignodes": AT_ONCE,
        "get machineconfigpools": AT_ONCE,
        "patch machineconfigs": REPAIR,
        "watch schedulers": OPENSHIFT,
    },
    DAEMON: ANYBODY | {"get machineconfignodes": AT_ONCE},
    SERVER: ANYBODY
    | {
        f"create events in {names.NAMESPACE}": "a machine shows a join token",
        "get secrets in kube-system": "a machine shows a join token that is not known yet",
    },
}


@pytest.mark.parametrize("grants", GRANTS, ids=lambda grants: grants.component)
def test_nobody_is_given_what_it_does_not_use(seen: list[audit.Request], grants: Grants) -> None:
    assert sorted(set(audit.unused(grants, seen)) - set(UNUSED[grants.component])) == []


@pytest.mark.parametrize("grants", GRANTS, ids=lambda grants: grants.component)
def test_a_reason_is_for_something_that_is_granted(grants: Grants) -> None:
    assert set(UNUSED[grants.component]) - set(audit.unused(grants, [])) == set()


@pytest.mark.usefixtures("seen")
def test_a_daemon_makes_no_other_secrets(cluster: Cluster) -> None:
    """Its role says nothing of what they are."""
    body = {"metadata": {"name": "router-certs"}, "data": {}}
    path = f"/api/v1/namespaces/{names.NAMESPACE}/secrets"

    async def make(client: Client) -> None:
        await client.request("POST", path, body=body)

    with pytest.raises(InvalidInput, match="may only make Secrets for its own copies, not router-certs"):
        cluster.ask(make, cluster.folder / f"{DAEMON}.kubeconfig")


@pytest.mark.usefixtures("seen")
def test_a_daemon_changes_no_other_node(cluster: Cluster) -> None:
    """Its ServiceAccount may change any, and runs everywhere."""
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}})
    body = {"metadata": {"annotations": {names.DESIRED_DRAIN: "uncordon-x"}}}
    path = "/api/v1/nodes/other"

    async def change(client: Client) -> None:
        await client.request("PATCH", path, body=body, content_type=PatchKind.MERGE)

    with pytest.raises(InvalidInput, match="may only change its own node, not other"):
        cluster.ask(change, cluster.folder / f"{DAEMON}.kubeconfig")


@contextlib.contextmanager
def component(cluster: Cluster, account: str, *argv: str) -> Iterator[None]:
    # A Pod's environment, as far as a leader asks what it names.
    command = ["env", f"NODE_NAME={NODE}", *cluster.command(*argv, kubeconfig=identity(cluster, account))]
    child = Child(command, cluster.folder / f"{account}.log")
    try:
        yield
    finally:
        child.stop()


@contextlib.contextmanager
def machine(cluster: Cluster) -> Iterator[None]:
    """A directory-rooted host with its daemon, which starts again when it ends, after a reboot too."""
    folder, stopped = cluster.folder / "host", threading.Event()
    FakeMachine.create(folder, hostname=NODE).close()
    command = cluster.command(
        *("daemon", "start", f"--fake-host={folder}", f"--node-name={NODE}", *listening(cluster, DAEMON)),
        kubeconfig=identity(cluster, DAEMON),
    )
    children: list[Child] = []

    def live() -> None:
        while not stopped.is_set():
            children.append(Child(command, cluster.folder / "daemon.log"))
            children[-1].wait()
            with contextlib.closing(FakeMachine(folder)) as host:
                if host.pending_reboot is not None:
                    host.boot()

    thread = threading.Thread(target=live)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        children[-1].stop()
        thread.join()


def identity(cluster: Cluster, account: str) -> Path:
    """A kubeconfig with the token that its Pod would have; the daemon's says on which node."""
    spec: dict[str, Any] = {"expirationSeconds": 3600}
    if account == DAEMON:
        node = cluster.get("v1", "Node", NODE)
        assert node is not None
        uid = node["metadata"]["uid"]
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": uid}
    token = token_of(cluster, account, spec)
    file = cluster.folder / f"{account}.kubeconfig"
    server = cluster.server
    file.write_bytes(kubeconfig.with_token(server.url, server.authority.certificate_pem, account, token))
    return file


def token_of(
    cluster: Cluster, account: str, spec: Mapping[str, Any], namespace: str = names.NAMESPACE
) -> str:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"

    async def request(client: Client) -> bytes:
        return await client.request("POST", path, body={"spec": spec})

    token: str = msgspec.json.decode(cluster.ask(request))["status"]["token"]
    return token


def listening(cluster: Cluster, account: str) -> tuple[str, ...]:
    """Flags with which a component lets its metrics be read over TLS, on the same port whenever it starts."""
    kept = cluster.folder / f"{account}.port"
    if not kept.exists():
        with socket.create_server(("127.0.0.1", 0)) as free:
            kept.write_text(str(free.getsockname()[1]))
    return f"--metrics-secure-listen=127.0.0.1:{kept.read_text()}", f"--metrics-tls={cluster.folder}/none"


def metrics_are_read(cluster: Cluster) -> None:
    """By whoever has the Role that an OpenShift's Prometheus is given, and by nobody else."""
    reader = {"name": "prometheus-k8s", "namespace": "default"}
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": reader})
    role, binding = monitoring.reader().values()
    cluster.create(role)
    cluster.create(binding | {"subjects": [{"kind": "ServiceAccount", **reader}]})
    spec = {"expirationSeconds": 3600}
    stranger = token_of(cluster, SERVER, spec)
    allowed = token_of(cluster, reader["name"], spec, reader["namespace"])
    for account, metric in ((CONTROLLER, "mco_machine_count"), (DAEMON, "mcd_state")):
        for token, status in (("", 401), ("x", 401), (stranger, 403)):
            assert read(cluster, account, token).status == status
        assert metric in families(read(cluster, account, allowed).body)


def read(cluster: Cluster, account: str, token: str) -> Answer:
    url = f"https://127.0.0.1:{(cluster.folder / f'{account}.port').read_text()}/metrics"
    return asyncio.run(ask(url, Authorization=f"Bearer {token}"))


def operator_flags(cluster: Cluster) -> tuple[str, ...]:
    file, ca = cluster.folder / "images.json", cluster.folder / "ca.crt"
    file.write_text(images()["data"]["images.json"])
    ca.write_bytes(cluster.server.authority.certificate_pem)
    return f"--images-json={file}", f"--apiserver-url={cluster.server.url}", f"--ca={ca}"


def server_flags(cluster: Cluster) -> tuple[str, ...]:
    """With the certificate that the operator made."""
    until(lambda: cluster.get("v1", "Secret", TLS_SECRET, names.NAMESPACE) is not None)
    secret = cluster.get("v1", "Secret", TLS_SECRET, names.NAMESPACE)
    assert secret is not None
    for name in ("tls.crt", "tls.key"):
        (cluster.folder / name).write_bytes(base64.b64decode(secret["data"][name]))
    return (
        *(f"--cert={cluster.folder / 'tls.crt'}", f"--key={cluster.folder / 'tls.key'}"),
        *("--bind=127.0.0.1", "--secure-port=0", f"--apiserver-url={cluster.server.url}"),
    )


def make_pods(cluster: Cluster) -> None:
    """The daemon's, which shows that the node has one, and one that has to go before a reboot."""
    daemon = {"name": "daemon", "namespace": names.NAMESPACE, "labels": {"k8s-app": DAEMON}}
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for metadata in (daemon, {"name": "guest", "namespace": "default"}):
        spec = {
            "nodeName": NODE,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": IMAGE}],
            "tolerations": [{"operator": "Exists"}],
        }
        cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
        cluster.patch_at(path, {"status": ready})


def lose_what_a_node_has(cluster: Cluster) -> None:
    """What the node runs, and its inputs no longer give, is deleted and comes back from the node."""
    pool = body_of(names.API_VERSION, "MachineConfigPool", "worker")
    name = target(cluster)
    cluster.patch(pool, {"spec": {"paused": True}})
    cluster.patch(motd(), {"spec": {"kernelArguments": ["nosmt"]}})
    until(lambda: target(cluster) != name)
    config = body_of(names.API_VERSION, "MachineConfig", name)
    cluster.patch(config, {"metadata": {"annotations": {names.ALLOW_DELETION: ""}}})
    before = uid(cluster, name)
    cluster.delete(config)
    until(lambda: uid(cluster, name) not in ("", before))
    until(lambda: names.COPY_WANTED not in (cluster.get("v1", "Node", NODE) or {})["metadata"]["annotations"])
    copies = f"/api/v1/namespaces/{names.NAMESPACE}/secrets"
    selected = {"labelSelector": names.COPY_LABEL}
    left = cluster.ask(lambda client: client.request("GET", copies, params=selected))
    assert msgspec.json.decode(left)["items"] == []


def target(cluster: Cluster) -> str:
    found = cluster.get(names.API_VERSION, "MachineConfigPool", "worker")
    assert found is not None
    name: str = found["spec"]["configuration"]["name"]
    return name


def uid(cluster: Cluster, config: str) -> str:
    found = cluster.get(names.API_VERSION, "MachineConfig", config)
    return found["metadata"]["uid"] if found else ""


def motd() -> dict[str, Any]:
    contents = base64.b64encode(TEXT.encode()).decode()
    file = {"path": "/etc/motd", "contents": {"source": f"data:;base64,{contents}"}}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": "50-motd", "labels": {names.ROLE_LABEL: "worker"}},
        "spec": {"config": {"ignition": {"version": "3.5.0"}, "storage": {"files": [file]}}},
    }


def report(cluster: Cluster) -> dict[str, Any] | None:
    """Of the node that goes away."""
    return cluster.get(names.API_VERSION, "MachineConfigNode", GONE)


def updated(cluster: Cluster) -> bool:
    pool = cluster.get(names.API_VERSION, "MachineConfigPool", "worker")
    status = (pool or {}).get("status") or {}
    file = cluster.folder / "host/root/etc/motd"
    return status.get("updatedMachineCount") == 1 and file.exists() and file.read_text() == TEXT


def events(cluster: Cluster) -> set[str]:
    path = f"/api/v1/namespaces/{names.NAMESPACE}/events"
    found = msgspec.json.decode(cluster.ask(lambda client: client.request("GET", path)))["items"]
    return {event["source"]["component"] for event in found}
