"""`mco install` and `mco uninstall` on a real Kubernetes API server."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from mco.api import names
from mco.apiserver.server import Settings, running
from mco.payload.filters import Selection, left_out
from mco.payload.generate import DEPLOY
from mco.payload.image import NAME as IMAGE
from mco.payload.manifest import Manifest, read
from mco.payload.situation import body_of
from mco.payload.source import monitoring
from mco.payload.source.metadata import CAPABILITY, OPERATOR, PROGRAM_LABEL, VERSION_LABEL
from mco.runtime import version
from tests.payload.cluster import PATIENCE, Cluster, Done, mco, until
from tests.servers.assets import find
from tests.servers.real import real_server

FILES = {e.name: e.read_bytes() for e in (resources.files("mco.payload") / "manifests").iterdir()}
WANTED = Selection(feature_set="CustomNoUpgrade", capabilities=frozenset({"ClusterOperator"}))
PAYLOAD = [m for m in read(FILES) if not left_out(m, WANTED)]
NAMESPACE = body_of("v1", "Namespace", names.NAMESPACE)
DEPLOYMENT = body_of("apps/v1", "Deployment", OPERATOR, names.NAMESPACE)
RBAC = "rbac.authorization.k8s.io/v1"
OLD_BINDING = body_of(RBAC, "ClusterRoleBinding", f"default-account-{names.NAMESPACE}") | {
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": names.NAMESPACE}],
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "server").mkdir()
    with real_server(find(), folder / "server") as server:
        server.start_controllers()
        yield Cluster(server, folder)


@pytest.fixture
def installed(cluster: Cluster) -> Cluster:
    """One that reported its version, whatever was done to it before."""
    if cluster.get("config.openshift.io/v1", "ClusterOperator", "machine-config") is not None:
        cluster.report(version.RAW, IMAGE)
    done = cluster.mco("install")
    assert done.code == 0, done.err
    cluster.report(version.RAW, IMAGE)
    return cluster


def shown(manifest: Manifest, outcome: str) -> str:
    group = f".{manifest.group}" if manifest.group else ""
    return f"{manifest.kind.lower()}{group}/{manifest.identity.name} {outcome}"


def test_from_nothing_to_everything_and_back(cluster: Cluster) -> None:
    foretold = cluster.mco("install", "--dry-run")
    applied = [m for m in PAYLOAD if not m.deletes]
    assert foretold.lines[: len(applied)] == [shown(m, "created (dry run)") for m in applied]
    assert cluster.get("v1", "Namespace", names.NAMESPACE) is None

    first = cluster.mco("install")
    assert first.code == 0, first.err
    assert [line for line in first.lines if line.endswith("created")] == [
        shown(m, "created") for m in applied if m.kind != "ClusterOperator"
    ]
    assert [m.file for m in applied if not cluster.has(m)] == []

    again = cluster.mco("install")
    assert again.code == 0 and {line.split()[-1] for line in again.lines} == {"unchanged"}

    cluster.create(cordoned("drained", {names.DESIRED_DRAIN: "drain-x", names.LAST_APPLIED_DRAIN: "drain-x"}))
    cluster.create(cordoned("by-a-person", {}))
    gone = cluster.mco("uninstall", "--yes")
    assert gone.code == 0, gone.err
    assert gone.lines[0] == shown(deployment(), "deleted")
    assert gone.lines[-1] == "node/drained uncordoned"
    assert [unschedulable(cluster, name) for name in ("drained", "by-a-person")] == [None, True]
    assert {m.kind for m in applied if cluster.has(m)} == {"CustomResourceDefinition"}
    purged = cluster.mco("uninstall", "--purge", "--yes")
    assert purged.code == 0, purged.err
    kept = {m.identity.name for m in applied if cluster.has(m)}
    assert kept == {"clusteroperators.config.openshift.io"}
    for name in ("drained", "by-a-person"):
        cluster.delete(body_of("v1", "Node", name))


def deployment() -> Manifest:
    (found,) = (m for m in PAYLOAD if m.kind == "Deployment")
    return found


def cordoned(name: str, annotations: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"unschedulable": True}}


def unschedulable(cluster: Cluster, name: str) -> bool | None:
    node = cluster.get("v1", "Node", name)
    assert node is not None
    found: bool | None = node["spec"].get("unschedulable")
    return found


def test_adoption_is_shown_first_and_done_when_confirmed(cluster: Cluster) -> None:
    plane = {"name": "a", "labels": {f"{names.NODE_ROLE_PREFIX}control-plane": ""}}
    for metadata in (plane, {"name": "b"}, {"name": "c", "labels": {f"{names.NODE_ROLE_PREFIX}worker": ""}}):
        cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    done = cluster.mco("install", "--adopt")
    rows = [line.split() for line in done.lines]
    assert done.code == 0
    assert [row for row in rows if row[:1] in (["a"], ["b"], ["c"])] == [
        ["a", "master", "master"],
        ["b", "worker", "worker"],
        ["c", "has", "one", "worker"],
    ]
    assert "it selects no MachineConfigs, nothing changes" in done.out
    assert cluster.get("v1", "Namespace", names.NAMESPACE) is None
    assert roles(cluster, "b") == set()
    confirmed = cluster.mco("install", "--adopt", "--yes")
    assert confirmed.lines[-2:] == ["node/a labeled", "node/b labeled"]
    assert roles(cluster, "a") == {"control-plane", "master"} and roles(cluster, "b") == {"worker"}
    file = {"path": "/etc/motd", "contents": {"source": "data:,Hello"}}
    config = {"ignition": {"version": "3.5.0"}, "storage": {"files": [file]}}
    cluster.create(
        {
            "apiVersion": names.API_VERSION,
            "kind": "MachineConfig",
            "metadata": {"name": "50-motd", "labels": {names.ROLE_LABEL: "worker"}},
            "spec": {"config": config},
        }
    )
    shown_again = cluster.mco("install", "--adopt")
    assert "+ /etc/motd" in shown_again.out


def roles(cluster: Cluster, node: str) -> set[str]:
    found = cluster.get("v1", "Node", node)
    assert found is not None
    labels = found["metadata"].get("labels") or {}
    prefix = names.NODE_ROLE_PREFIX
    return {label.removeprefix(prefix) for label in labels if label.startswith(prefix)}


def test_what_somebody_changed_or_removed_comes_back(installed: Cluster) -> None:
    role = body_of(RBAC, "ClusterRole", "machine-config-daemon")
    installed.delete(role)
    installed.patch(DEPLOYMENT, {"spec": {"strategy": {"type": "RollingUpdate"}, "replicas": 3}})
    done = installed.mco("install")
    changed = [line for line in done.lines if not line.endswith("unchanged")]
    assert changed == [
        "clusterrole.rbac.authorization.k8s.io/machine-config-daemon created",
        f"deployment.apps/{OPERATOR} configured",
    ]
    found = installed.get("apps/v1", "Deployment", OPERATOR, names.NAMESPACE)
    assert found is not None
    assert (found["spec"]["replicas"], found["spec"]["strategy"]) == (1, {"type": "Recreate"})


def test_an_update_takes_permissions_only_after_the_new_operator_reported(installed: Cluster) -> None:
    """spec/operator.md 0.2."""
    installed.create(OLD_BINDING)
    folder = installed.of_version("9.9.9", FILES)
    impatient = installed.mco("install", f"--manifests={folder}", "--timeout=1")
    assert impatient.code == 1
    assert "Cluster operator machine-config is updating versions" in impatient.err
    assert binding_exists(installed)

    process = installed.start("install", f"--manifests={folder}", "--timeout=60")
    errors = process.stderr
    assert errors is not None
    until(lambda: "is updating versions" in errors.readline())
    assert binding_exists(installed)
    installed.report("9.9.9", IMAGE.replace(version.RAW, "9.9.9"))
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert out.splitlines()[-1] == f"{named(OLD_BINDING)} deleted"
    assert not binding_exists(installed)


def named(binding: dict[str, Any]) -> str:
    return f"clusterrolebinding.rbac.authorization.k8s.io/{binding['metadata']['name']}"


def binding_exists(cluster: Cluster) -> bool:
    return cluster.get(RBAC, "ClusterRoleBinding", OLD_BINDING["metadata"]["name"]) is not None


def test_waiting_says_what_for_and_gives_up_in_time(installed: Cluster) -> None:
    """Nobody runs Deployments here."""
    done = installed.mco("install", "--wait", "--timeout=1")
    assert done.code == 1
    assert (
        f'error: timed out waiting: deployment "{names.NAMESPACE}/{OPERATOR}" is not rolled out' in done.err
    )


def test_an_image_goes_into_everything_that_names_one(installed: Cluster) -> None:
    # The operator has to report another image: an update, which waits for it.
    assert installed.mco("install", "--image=example/mco:1", "--timeout=0").code == 1
    found = installed.get("apps/v1", "Deployment", OPERATOR, names.NAMESPACE)
    assert found is not None
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "example/mco:1"
    images = installed.get("v1", "ConfigMap", "machine-config-operator-images", names.NAMESPACE)
    assert images is not None and "example/mco:1" in images["data"]["images.json"]


def test_kustomize_installs_the_same(installed: Cluster) -> None:
    installed.delete(body_of(RBAC, "ClusterRole", OPERATOR))
    command = [
        "kubectl",
        f"--kubeconfig={installed.server.kubeconfig}",
        "apply",
        "-k",
        str(DEPLOY / "kustomize"),
    ]
    applied = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert applied.returncode == 0, applied.stderr
    assert f"clusterrole.rbac.authorization.k8s.io/{OPERATOR} created" in applied.stdout
    assert {line.split()[-1] for line in installed.mco("install").lines} == {"unchanged"}


def test_beside_another_operator_nothing_is_applied(installed: Cluster) -> None:
    """It is not ours without our labels."""
    role = body_of(RBAC, "ClusterRole", OPERATOR)
    installed.delete(role)
    installed.patch(DEPLOYMENT, {"metadata": {"labels": {PROGRAM_LABEL: None, VERSION_LABEL: None}}})
    refused = installed.mco("install")
    assert refused.code == 1
    assert "another machine config operator runs here" in refused.err
    assert f"kubectl -n {names.NAMESPACE} scale deployment {OPERATOR} --replicas=0" in refused.err
    assert installed.get(RBAC, "ClusterRole", OPERATOR) is None

    installed.patch(DEPLOYMENT, {"spec": {"replicas": 0}})
    taken = installed.mco("install")
    assert taken.code == 0, taken.err
    assert f"deployment.apps/{OPERATOR} configured" in taken.lines


def test_openshift_s_monitoring_is_given_its_targets(installed: Cluster) -> None:
    """And no other one: its kinds alone are not enough."""
    namespace = body_of("v1", "Namespace", monitoring.NAMESPACE)
    definitions = [monitoring_kind(kind) for kind in ("ServiceMonitor", "PrometheusRule")]
    wanted = [m for m in read(FILES) if m.annotations.get(CAPABILITY) == monitoring.CAPABILITY_NAME]
    assert {m.kind for m in wanted} == {"Role", "RoleBinding", "ServiceMonitor", "PrometheusRule"}
    for definition in definitions:
        installed.create(definition)
    until(lambda: all(established(installed, definition) for definition in definitions))
    assert installed.mco("install").code == 0
    assert not any(installed.has(manifest) for manifest in wanted)
    installed.create(namespace)
    done = installed.mco("install")
    assert done.code == 0, done.err
    assert all(installed.has(manifest) for manifest in wanted)
    for body in (*definitions, namespace):
        installed.delete(body)


def monitoring_kind(kind: str) -> dict[str, Any]:
    group, version = monitoring.MONITORS[0].split("/")
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "listKind": f"{kind}List", "singular": kind.lower()}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [served]}
    return body_of("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}") | {
        "spec": spec
    }


def established(cluster: Cluster, definition: dict[str, Any]) -> bool:
    found = cluster.get(definition["apiVersion"], definition["kind"], definition["metadata"]["name"])
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: [", "0000_80_x_00.yaml"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "metadata.name is not set"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n"
            '    release.openshift.io/delete: "yes"\n',
            'release.openshift.io/delete is "yes"',
        ),
        ("", "there are no manifests"),
    ],
)
def test_a_payload_that_is_none_changes_nothing(
    cluster: Cluster, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "0000_80_x_00.yaml").write_text(text)
    done = cluster.mco("install", f"--manifests={tmp_path}")
    assert done.code == 1 and said in done.err and not done.out


def test_a_server_without_workloads_is_said_to_be_one(tmp_path: Path) -> None:
    async def refused() -> Done:
        async with running(Settings(data_dir=tmp_path)) as server:
            return await asyncio.to_thread(mco, server.kubeconfig, "install")

    done = asyncio.run(refused())
    assert done.code == 1 and "this API server runs no workloads" in done.err
