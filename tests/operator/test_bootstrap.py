"""The ControllerConfig that a cluster starts from is the one that it makes itself while it is new
(spec/operator.md 0.1, 1.16), on the embedded server."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mco.api import names, resources
from mco.kube import requests
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import AlreadyExists
from mco.kube.wholes import Wholes
from mco.operator import bootstrap, bootstrapsources
from mco.plan.installation.images import OURS, Release
from mco.runtime import version
from tests import installer
from tests.operator.world import World, embedded
from tests.servers.real import RealServer

WHICH = (names.API_VERSION, "ControllerConfig", names.CONTROLLER_CONFIG)
PLURALS = {"Infrastructure": "infrastructures", "Network": "networks", "DNS": "dnses", "Proxy": "proxies"}
CLOUD = installer.setting(
    "Infrastructure",
    spec={"cloudConfig": {"name": "cloud-provider-config", "key": "config"}},
    status={"apiServerInternalURI": "https://api-int.example:6443", "platformStatus": {"type": "AWS"}},
)


def plain() -> dict[str, Any]:
    return installer.files()


def with_a_cloud() -> dict[str, Any]:
    """And another bundle of authorities than the usual one."""
    return installer.files() | {
        "infra-config-file": CLOUD,
        "cloud-config-file": installer.config_map("cloud-provider-config", config="zone: a\n"),
        "cloud-provider-ca-file": installer.pem("cloud"),
        "proxy-config-file": installer.setting("Proxy", spec={"trustedCA": {"name": "mine"}}),
        "additional-trust-bundle-config-file": installer.config_map(
            "mine", **{"ca-bundle_crt": installer.pem("user") + installer.pem("more")}
        ),
    }


def without_what_may_be_missing() -> dict[str, Any]:
    files = installer.files()
    del files["additional-trust-bundle-config-file"]
    network = {"serviceNetwork": ["fd00::/48", "10.0.0.0/16"]}
    return files | {
        "proxy-config-file": installer.setting("Proxy"),
        "network-config-file": installer.setting("Network", spec=network),
        "infra-config-file": installer.setting("Infrastructure", status={"platform": "None"}),
    }


async def installed(world: World, files: dict[str, Any], made: bootstrap.Bootstrap) -> None:
    """What the installer and the platform make of the same files."""
    for option in ("infra", "network", "dns", "proxy"):
        document = files[f"{option}-config-file"]
        await world.kind(document["kind"], PLURALS[document["kind"]])
        await world.wholes.create(document)
    await world.config_map("kube-system", "root-ca", {"ca.crt": files["root-ca"]})
    await world.config_map("openshift-config-managed", "image-registry-ca", {})
    authorities = made.objects["manifests/kube-apiserver-serving-ca-configmap.yaml"]
    await world.config_map("openshift-config", authorities["metadata"]["name"], authorities["data"])
    trusted = files.get("additional-trust-bundle-config-file")
    if trusted:
        await world.config_map("openshift-config", trusted["metadata"]["name"], trusted["data"])
    secret = yaml.safe_load(made.secret[bootstrap.PULL_SECRET])
    await world.client.create(resources.SECRETS, secret, namespace="openshift-config")
    if "cloud-config-file" in files:
        cloud = {
            "cloud.conf": files["cloud-config-file"]["data"]["config"],
            "ca-bundle.pem": files["cloud-provider-ca-file"],
        }
        await world.config_map("openshift-config-managed", "kube-cloud-config", cloud)


@pytest.mark.parametrize("case", [plain, with_a_cloud, without_what_may_be_missing])
async def test_both_are_equal(tmp_path: Path, case: Any) -> None:
    files = case()
    found = bootstrapsources.read(installer.write(tmp_path / "in", files))
    release = Release(images={OURS: "example/mco:1"})
    made = bootstrap.bootstrap(found, release, "example/release")
    config = made.objects["bootstrap/manifests/machineconfigcontroller-controllerconfig.yaml"]
    async with embedded(tmp_path / "api") as world:
        await installed(world, files, made)
        async with world.operator(version.RAW, image="example/mco:1"):
            in_cluster = await world.until(lambda found: found.get("status"), WHICH)
        await world.client.delete(resources.CONTROLLER_CONFIGS, names.CONTROLLER_CONFIG)
        await world.client.create(resources.CONTROLLER_CONFIGS, config)
        at_first = await world.object(*WHICH)
    assert at_first["spec"] == in_cluster["spec"] | {"releaseImage": "example/release"}
    for annotation in (names.GENERATED_BY_VERSION, names.RELEASE_IMAGE_VERSION):
        both = [each["metadata"]["annotations"][annotation] for each in (at_first, in_cluster)]
        assert both[0] == both[1]


async def test_a_real_server_takes_the_manifests(tmp_path: Path, real_apiserver: RealServer) -> None:
    """All of those that are of its own kinds, field for field."""
    found = bootstrapsources.read(installer.write(tmp_path / "in", installer.files()))
    made = bootstrap.bootstrap(found, Release(images={OURS: "example/mco:1"}))
    foreign = {"ControllerConfig", "MachineConfigPool"}
    bodies = [body for body in made.objects.values() if body["kind"] not in foreign]
    assert {body["kind"] for body in bodies} == {"Pod", "ClusterRoleBinding", "ConfigMap"}
    async with Client(load(real_apiserver.kubeconfig)) as client:
        wholes = Wholes(client)
        for body in bodies:
            namespace = body["metadata"].get("namespace")
            if namespace:
                with contextlib.suppress(AlreadyExists):
                    await client.create(resources.NAMESPACES, {"metadata": {"name": namespace}})
            path = requests.path(await wholes.resource(body), namespace=namespace or "")
            strict = {"dryRun": "All", "fieldValidation": "Strict"}
            await client.request("POST", path, params=strict, body=body)
