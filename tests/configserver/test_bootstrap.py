"""Bootstrap mode: the original's folder, over real sockets (spec/operator.md 3.5, 8.9)."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from mco.api import names
from mco.base.errors import InvalidInput
from mco.configserver.admission import everybody
from mco.configserver.bootstrap import BootstrapConfigs, tls_profile
from mco.configserver.front import Front
from mco.configserver.tls import Profile
from mco.ignition import dataurl
from mco.runtime.clock import SystemClock
from tests.configserver.clients import Answer, ask, served
from tests.configserver.installation import files

IGNITION = "application/vnd.coreos.ignition+json;version="
POOL = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: master}
spec: {configuration: {name: ignored}}
status: {configuration: {name: rendered-master-1}}
"""
CONFIG = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: rendered-master-1}
spec:
  config:
    ignition: {version: 3.4.0}
    storage:
      files:
      - {path: /etc/motd, mode: 0644, contents: {source: "data:,hello"}}
"""
CONTROLLER = f"""\
apiVersion: machineconfiguration.openshift.io/v1
kind: ControllerConfig
metadata: {{name: machine-config-controller}}
spec: {{kubeAPIServerServingCAData: {base64.b64encode(b"kubelet CA").decode()}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in {
        "machine-pools/master.yaml": POOL,
        "machine-configs/rendered-master-1.yaml": CONFIG,
        "controller-config/machine-config-controller.yaml": CONTROLLER,
        "kubeconfig": "kind: Config # as it is\n",
        "bundles/foo.crt": "bundle of foo",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@asynccontextmanager
async def server(folder: Path, *bundles: str) -> AsyncIterator[tuple[BootstrapConfigs, int]]:
    configs = BootstrapConfigs(folder, folder / "kubeconfig", bundles)
    async with served(Front(configs, everybody, SystemClock())) as (_, port):
        yield configs, port


async def fetch(port: int, pool: str = "master", version: str = "3.4.0") -> Answer:
    return await ask(port, "GET", f"/config/{pool}", None, Accept=IGNITION + version)


def content(answer: Answer, path: str) -> bytes:
    return dataurl.decode(files(answer.body)[path]["contents"]["source"])


async def test_a_master_gets_its_config_and_what_makes_it_a_node(folder: Path) -> None:
    async with server(folder, "foo=bundles/foo.crt", "bar:5000=bundles/foo.crt") as (_, port):
        answer = await fetch(port)
    assert answer.status == 200
    assert msgspec.json.decode(answer.body)["ignition"]["version"] == "3.4.0"
    assert content(answer, "/etc/motd") == b"hello"
    assert content(answer, names.KUBELET_CA_FILE) == b"kubelet CA"
    assert content(answer, names.KUBECONFIG_FILE) == b"kind: Config # as it is\n"
    assert content(answer, "/etc/docker/certs.d/foo/ca.crt") == b"bundle of foo"
    assert content(answer, "/etc/docker/certs.d/bar:5000/ca.crt") == b"bundle of foo"
    annotations = msgspec.json.decode(content(answer, names.NODE_ANNOTATIONS_FILE))
    assert annotations[names.CURRENT_CONFIG] == "rendered-master-1"
    encapsulated = msgspec.json.decode(content(answer, names.ENCAPSULATED_FILE))
    assert encapsulated["spec"]["config"] == {"ignition": {"version": "3.5.0"}}


async def test_workers_have_to_wait_for_the_cluster(folder: Path) -> None:
    (folder / "machine-pools/worker.yaml").write_text(POOL.replace("master", "worker"))
    async with server(folder) as (_, port):
        answer = await fetch(port, "worker")
        assert (answer.status, answer.body) == (500, b"")


async def test_an_arbiter_is_served(folder: Path) -> None:
    (folder / "machine-pools/arbiter.yaml").write_text(POOL.replace("{name: master}", "{name: arbiter}"))
    async with server(folder) as (_, port):
        assert (await fetch(port, "arbiter")).status == 200


@pytest.mark.parametrize(
    ("missing", "status"),
    [
        ("machine-pools/master.yaml", 404),
        ("machine-configs/rendered-master-1.yaml", 404),
        ("controller-config/machine-config-controller.yaml", 500),
    ],
)
async def test_files_may_come_later(folder: Path, missing: str, status: int) -> None:
    text = (folder / missing).read_text()
    (folder / missing).unlink()
    async with server(folder) as (_, port):
        answer = await fetch(port)
        assert (answer.status, answer.body) == (status, b"")
        (folder / missing).write_text(text)
        assert (await fetch(port)).status == 200


@pytest.mark.parametrize(
    "text", ["{", "kind: nothing", "", "\xff", CONFIG + "---\n" + CONFIG.replace("-1", "-2")]
)
async def test_a_broken_file_is_a_fault(folder: Path, text: str) -> None:
    path = folder / "machine-configs/rendered-master-1.yaml"
    path.write_bytes(text.encode("latin-1"))
    async with server(folder) as (_, port):
        assert (await fetch(port)).status == 500
        path.write_text(CONFIG)
        assert (await fetch(port)).status == 200


@pytest.mark.parametrize(
    "entry", ["foo", "=bundles/foo.crt", "foo=", "foo=missing.crt", "../foo=bundles/foo.crt"]
)
async def test_a_broken_authority_entry_makes_each_request_fail(folder: Path, entry: str) -> None:
    async with server(folder, entry) as (_, port):
        for _ in range(2):
            assert (await fetch(port)).status == 500


async def test_answers_are_made_again_only_when_a_file_changed(folder: Path) -> None:
    async with server(folder, "foo=bundles/foo.crt") as (configs, port):
        for _ in range(5):
            assert content(await fetch(port), "/etc/motd") == b"hello"
        assert configs.prepared == 1
        (folder / "machine-configs/rendered-master-1.yaml").write_text(CONFIG.replace("hello", "goodbye"))
        assert content(await fetch(port), "/etc/motd") == b"goodbye"
        (folder / "bundles/foo.crt").write_text("another bundle")
        assert content(await fetch(port), "/etc/docker/certs.d/foo/ca.crt") == b"another bundle"
        assert configs.prepared == 3


def test_the_kubeconfig_for_machines_must_be_there(folder: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        BootstrapConfigs(folder, folder / "missing")
    assert error.value.path == str(folder / "missing")
    assert "--bootstrap-kubeconfig" in error.value.hint


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("{}", Profile()),
        ("{tlsSecurityProfile: {type: Intermediate}}", Profile()),
        ("{tlsSecurityProfile: {type: Old}}", Profile()),
        ("{tlsSecurityProfile: {type: Modern}}", Profile(minimum=ssl.TLSVersion.TLSv1_3)),
        (
            "{tlsSecurityProfile: {type: Custom, custom: {minTLSVersion: VersionTLS12, ciphers: "
            "[ECDHE-RSA-AES256-GCM-SHA384, AES128-SHA, ECDHE-ECDSA-AES128-GCM-SHA256]}}}",
            Profile(("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384")),
        ),
        ("{tlsSecurityProfile: {type: Custom, custom: {ciphers: [AES128-SHA]}}}", Profile()),
    ],
)
def test_tls_is_what_the_installation_wants(tmp_path: Path, profile: str, expected: Profile) -> None:
    path = tmp_path / "api-server.yaml"
    path.write_text(f"apiVersion: config.openshift.io/v1\nkind: APIServer\nspec: {profile}\n")
    assert tls_profile(path) == expected


def test_without_a_wish_tls_is_intermediate(tmp_path: Path) -> None:
    assert tls_profile(tmp_path / "api-server.yaml") == Profile()


@pytest.mark.parametrize("text", ["just text", "", "{", "spec: []", "spec: {tlsSecurityProfile: {type: 5}}"])
def test_a_broken_wish_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "api-server.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as error:
        tls_profile(path)
    assert str(path) in error.value.path + error.value.subject
