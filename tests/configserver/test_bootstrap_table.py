"""From manifests to the answers of the bootstrap server: every request that a client can make of it, against
the tables of spec/operator.md 3.2 to 3.5."""

from __future__ import annotations

import base64
import itertools
import urllib.parse
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.yaml import Document
from mco.cli.bootstrap import write
from mco.configserver.admission import everybody
from mco.configserver.bootstrap import BootstrapConfigs
from mco.configserver.front import Front
from mco.render.bootstrap import bootstrap, gather
from mco.render.checks import Versions
from mco.runtime.clock import SystemClock
from tests.configserver.clients import Answer, Wire, connected, served
from tests.machineconfigs import API, file, files, manifest

IGNITION = "application/vnd.coreos.ignition+json"
KUBECONFIG = b"kind: Config # as it is\n"
KUBELET_CA, CLOUD_CA = b"CA of kubelets", b"CA of the cloud"
BUNDLE = b"CA of a registry"
PRIVATE, PUBLIC = 0o600, 0o644

REFUSED = None
ACCEPTS: dict[str, str | None] = {
    "": "2.2.0",
    "*/*": "2.2.0",
    "garbage": "2.2.0",
    "text/plain": "2.2.0",
    IGNITION: "2.2.0",
    f"{IGNITION};version=1": "2.2.0",
    f"{IGNITION};q=0.5": "2.2.0",
    **{f"{IGNITION};version=2.{minor}.0": "2.2.0" if minor >= 2 else REFUSED for minor in range(5)},
    # 3.0 is refused on purpose (spec/operator.md 9).
    f"{IGNITION};version=3.0.0": REFUSED,
    **{f"{IGNITION};version=3.{minor}.0": f"3.{minor}.0" for minor in range(1, 6)},
    **{f"{IGNITION};version=3.{minor}.7": f"3.{minor}.0" for minor in range(1, 6)},
    **{f"{IGNITION};version=3.{minor}.0-dev": f"3.{minor}.0" for minor in range(1, 6)},
    f"{IGNITION};version=3.6.0": "3.5.0",
    f"{IGNITION};version=3.99.0": "3.5.0",
    f"{IGNITION};version=1.0.0": REFUSED,
    f"{IGNITION};version=4.0.0": REFUSED,
    # As Ignition itself asks.
    f"{IGNITION};version=3.4.0, */*;q=0.1": "3.4.0",
    f"{IGNITION};version=2.4.0, application/vnd.coreos.ignition+json;version=1;q=0.5, */*;q=0.1": "2.2.0",
    # The best decides, and no other is tried.
    f"{IGNITION};version=3.1.0;q=0.5, {IGNITION};version=3.3.0": "3.3.0",
    f"{IGNITION};version=3.1.0, {IGNITION};version=3.3.0": "3.1.0",
    f"{IGNITION};version=4.0.0, {IGNITION};version=3.3.0;q=0.9": REFUSED,
    f"{IGNITION};version=4.0.0;q=0.1, {IGNITION};version=3.3.0;q=0.9": "3.3.0",
    f"text/html, {IGNITION};version=3.2.0;q=0.2": "3.2.0",
}
POOLS = {"master": 200, "arbiter": 200, "worker": 500, "edge": 500, "nobody": 500}
OTHERS = {
    ("GET", "/healthz"): 200,
    ("HEAD", "/healthz"): 200,
    ("POST", "/healthz"): 405,
    ("GET", "/"): 404,
    ("HEAD", "/"): 404,
    ("POST", "/"): 405,
    ("GET", "/elsewhere"): 404,
    ("PUT", "/elsewhere"): 405,
    **{(method, "/config/master"): 405 for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS")},
    **{(method, "/config"): 307 for method in ("GET", "HEAD", "POST")},
    ("GET", "//config/master"): 307,
    ("GET", "/config/./master"): 307,
}


def controller() -> dict[str, Any]:
    spec = {
        "baseOSContainerImage": "quay.io/os@sha256:" + "1" * 64,
        "kubeAPIServerServingCAData": base64.b64encode(KUBELET_CA).decode(),
        "cloudProviderCAData": base64.b64encode(CLOUD_CA).decode(),
    }
    return {**API, "kind": "ControllerConfig", "metadata": {"name": names.CONTROLLER_CONFIG}, "spec": spec}


def pool(name: str, *roles: str) -> dict[str, Any]:
    expression = {"key": names.ROLE_LABEL, "operator": "In", "values": list(roles)}
    spec = {"machineConfigSelector": {"matchExpressions": [expression]}}
    return {**API, "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": spec}


MANIFESTS = [
    controller(),
    pool("arbiter", "master", "arbiter"),
    pool("edge", "worker", "edge"),
    manifest("00-worker"),
    manifest("00-master", files(file("/etc/motd", "data:,hello", mode=384)), role="master"),
    manifest(
        "50-arguments",
        {"version": "3.3.0", "kernelArguments": {"shouldExist": ["late"]}},
        role="master",
        kernelArguments=["early"],
    ),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `mco bootstrap` makes of the manifests, and what else an installation has there."""
    folder = tmp_path_factory.mktemp("mcs")
    inputs = gather(Document(item, "all.yaml", 1) for item in MANIFESTS)
    write(folder, bootstrap(inputs, "in", Versions()))
    (folder / "kubeconfig").write_bytes(KUBECONFIG)
    (folder / "bundle.crt").write_bytes(BUNDLE)
    return folder


@pytest.fixture
async def wire(installed: Path) -> AsyncIterator[Wire]:
    configs = BootstrapConfigs(installed, installed / "kubeconfig", ("reg:5000=bundle.crt",))
    async with (
        served(Front(configs, everybody, SystemClock())) as (_, port),
        connected(port) as connection,
    ):
        yield connection


def config_name(installed: Path, pool_name: str) -> str:
    (found,) = (path.stem for path in installed.glob(f"machine-configs/rendered-{pool_name}-*.yaml"))
    return found


def contents(entry: dict[str, Any]) -> bytes:
    return urllib.parse.unquote_to_bytes(entry["contents"]["source"].removeprefix("data:,"))


def check(answer: Answer, name: str, version: str) -> None:
    """A whole answer against the table of appended files."""
    body = msgspec.json.decode(answer.body)
    assert body["ignition"]["version"] == version
    moved = version < "3.3.0"
    assert body.get("kernelArguments") == (None if moved else {"shouldExist": ["late"]})
    entries = body["storage"]["files"]
    assert [(entry["path"], entry["mode"]) for entry in entries] == [
        ("/etc/motd", 384),
        (names.KUBELET_CA_FILE, PUBLIC),
        (names.CLOUD_CA_FILE, PUBLIC),
        (names.NODE_ANNOTATIONS_FILE, PUBLIC),
        (names.KUBECONFIG_FILE, PRIVATE),
        (names.SERVED_CONFIG_FILE, PRIVATE),
        ("/etc/docker/certs.d/reg:5000/ca.crt", PUBLIC),
        (names.ENCAPSULATED_FILE, PRIVATE),
    ]
    assert all(entry["overwrite"] for entry in entries)
    assert {entry.get("filesystem") for entry in entries} == ({"root"} if version == "2.2.0" else {None})
    motd, kubelet_ca, cloud_ca, annotations, kubeconfig, content, bundle, encapsulated = map(
        contents, entries
    )
    assert (motd, kubelet_ca, cloud_ca) == (b"hello", KUBELET_CA, CLOUD_CA)
    assert (kubeconfig, bundle) == (KUBECONFIG, BUNDLE)
    assert msgspec.json.decode(annotations) == {
        names.CURRENT_CONFIG: name,
        names.DESIRED_CONFIG: name,
        names.FIRST_PIVOT_CONFIG: name,
        names.STATE: names.STATE_DONE,
    }
    whole, reduced = msgspec.json.decode(content), msgspec.json.decode(encapsulated)
    assert b'\n    "' in content
    arguments = ["early", "late"] if moved else ["early"]
    for document in (whole, reduced):
        assert document["metadata"]["name"] == name
        assert document["spec"]["kernelArguments"] == arguments
        assert document["spec"]["osImageURL"] == controller()["spec"]["baseOSContainerImage"]
    paths = [entry["path"] for entry in whole["spec"]["config"]["storage"]["files"]]
    assert paths == ["/etc/motd", names.KUBELET_CA_FILE, names.CLOUD_CA_FILE]
    assert reduced["spec"]["config"] == {"ignition": {"version": "3.5.0"}}


async def test_every_config_in_every_version(wire: Wire, installed: Path) -> None:
    seen: dict[tuple[str, str], bytes] = {}
    for (accept, version), (pool_name, status) in itertools.product(ACCEPTS.items(), POOLS.items()):
        answer = await wire.ask("GET", f"/config/{pool_name}", Accept=accept)
        head = await wire.ask("HEAD", f"/config/{pool_name}", Accept=accept)
        expected = 400 if version is None else status
        assert (answer.status, head.status) == (expected, expected), (accept, pool_name)
        assert {**answer.headers, "date": ""} == {**head.headers, "date": ""}
        assert answer.headers["content-length"] == str(len(answer.body))
        if version is None or status != 200:
            assert (answer.body, set(answer.headers)) == (b"", {"content-length", "date"})
            continue
        assert answer.headers["content-type"] == "application/json"
        if (pool_name, version) not in seen:
            check(answer, config_name(installed, pool_name), version)
        assert seen.setdefault((pool_name, version), answer.body) == answer.body
    assert len(seen) == 2 * 6


async def test_every_other_request(wire: Wire) -> None:
    for (method, target), status in OTHERS.items():
        answer = await wire.ask(method, target)
        assert (answer.status, answer.body) == (status, b""), (method, target)
        assert answer.headers["content-length"] == "0"
        assert answer.headers.get("location") == (
            {"/config": "/config/"}.get(target, "/config/master") if status == 307 else None
        )


async def test_a_plain_client_without_an_accept_header(wire: Wire, installed: Path) -> None:
    check(await wire.ask("GET", "/config/master"), config_name(installed, "master"), "2.2.0")
