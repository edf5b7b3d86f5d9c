"""A ControllerConfig from what the cluster has (spec/operator.md 1.5, 1.6), on the embedded server."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mco.api import names, resources
from mco.payload.source import cluster_operator
from mco.pki import authority, bundle
from tests.operator.world import World, embedded, message, reason, said

CONTROLLER_CONFIG = (names.API_VERSION, "ControllerConfig", names.CONTROLLER_CONFIG)
MANAGED = "openshift-config-managed"
NOW = datetime.now(UTC)
INFRASTRUCTURE = {
    "spec": {"cloudConfig": {"name": ""}},
    "status": {
        "apiServerInternalURI": "https://api-int.example:6443",
        "controlPlaneTopology": "HighlyAvailableArbiter",
        "etcdDiscoveryDomain": "example",
        "platformStatus": {"type": "BareMetal", "baremetal": {"apiServerInternalIPs": ["10.0.0.5"]}},
    },
}
NETWORK = {
    "spec": {"serviceNetwork": ["172.30.0.0/16"]},
    "status": {"networkType": "OVNKubernetes", "serviceNetwork": ["172.30.0.0/16"]},
}


def pem(name: str) -> str:
    return authority.create(name, NOW).certificate_pem.decode()


@pytest.fixture(scope="module")
def certificates() -> dict[str, str]:
    return {
        name: pem(name) for name in ("user", "client", "root", "initial", "kube-apiserver-to-kubelet-signer")
    }


async def openshift(world: World, certificates: dict[str, str]) -> None:
    """A cluster of OpenShift's, whose own bootstrap is complete."""
    await world.openshift("Infrastructure", "infrastructures", **INFRASTRUCTURE)
    await world.openshift("Network", "networks", **NETWORK)
    await world.openshift("DNS", "dnses", spec={"baseDomain": "example"})
    proxy = {"spec": {"trustedCA": {"name": "user-ca-bundle"}}, "status": {"httpsProxy": "http://proxy:3128"}}
    await world.openshift("Proxy", "proxies", **proxy)
    await world.config_map("kube-system", "root-ca", {"ca.crt": certificates["root"]})
    await world.config_map("openshift-config", "user-ca-bundle", {"ca-bundle.crt": certificates["user"]})
    await world.openshift("Image", "images", spec={"additionalTrustedCA": {"name": "registries"}})
    await world.config_map("openshift-config", "registries", {"registry..5000": certificates["user"]})
    await world.config_map(MANAGED, "kube-apiserver-server-ca", {"ca-bundle.crt": certificates["root"]})
    await world.config_map(MANAGED, "kube-apiserver-client-ca", {"ca-bundle.crt": certificates["client"]})
    await world.config_map(
        "openshift-config", "initial-kube-apiserver-server-ca", {"ca-bundle.crt": certificates["initial"]}
    )


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def decoded(config: dict[str, Any], field: str) -> str:
    return base64.b64decode(config["spec"][field]).decode()


async def test_openshift(tmp_path: Path, certificates: dict[str, str]) -> None:
    """While the installation is new nodes trust whom they trusted at their first boot, then whom the cluster
    names; there is a pool for arbiters in their topology."""
    async with embedded(tmp_path) as world:
        await openshift(world, certificates)
        async with world.operator():
            config = await world.until(lambda found: found.get("status"), CONTROLLER_CONFIG)
            spec = config["spec"]
            assert spec["clusterDNSIP"] == "172.30.0.10"
            assert (spec["ipFamilies"], spec["networkType"]) == ("IPv4", "OVNKubernetes")
            assert (spec["platform"], spec["etcdDiscoveryDomain"]) == ("baremetal", "example")
            assert spec["proxy"] == {"httpsProxy": "http://proxy:3128"}
            assert spec["dns"]["spec"] == {"baseDomain": "example"}
            assert spec["infra"]["kind"] == "Infrastructure"
            assert decoded(config, "additionalTrustBundle") == certificates["user"]
            assert decoded(config, "rootCAData") == certificates["root"]
            assert decoded(config, "kubeAPIServerServingCAData") == certificates["initial"]
            registries = [{"file": "registry..5000", "data": encoded(certificates["user"])}]
            assert (spec["imageRegistryBundleUserData"], spec["imageRegistryBundleData"]) == (registries, [])
            await world.until(lambda _: True, (names.API_VERSION, "MachineConfigPool", "arbiter"))
            merged = await world.object("v1", "ConfigMap", "merged-trusted-image-registry-ca", MANAGED)
            assert merged["data"] == {"registry..5000": certificates["user"]}
            for_machines = await world.object("v1", "ConfigMap", "kubeconfig-data", names.NAMESPACE)
            assert for_machines["binaryData"] == {"ca-bundle.crt": encoded(certificates["root"])}
        await world.config_map("kube-system", "bootstrap", {})
        async with world.operator():
            await world.until(
                lambda found: decoded(found, "kubeAPIServerServingCAData") == certificates["client"],
                CONTROLLER_CONFIG,
            )


async def test_credentials_for_the_registry_come_last(tmp_path: Path, certificates: dict[str, str]) -> None:
    """Nodes booted without: the first config that is rendered has none either."""
    async with embedded(tmp_path) as world:
        await openshift(world, certificates)
        await world.config_map("kube-system", "bootstrap", {})
        await world.config_map(names.NAMESPACE, "namespace", {})
        await world.define(cluster_operator.definition())
        registry = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "spec": {}}
        await world.wholes.create(registry | {"metadata": {"name": "image-registry"}})
        account = {"metadata": {"name": "machine-os-puller"}}
        await world.client.create(resources.SERVICE_ACCOUNTS, account, namespace=names.NAMESPACE)
        auths = '{"auths":{"quay.io":{"auth":"YQ=="}}}'
        secret = {
            "metadata": {"name": "pull-secret"},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": encoded(auths)},
        }
        await world.client.create(resources.SECRETS, secret, namespace="openshift-config")
        async with world.operator():
            config = await world.until(lambda found: found.get("status"), CONTROLLER_CONFIG)
            assert config["spec"].get("internalRegistryPullSecret") is None
        async with world.operator():
            await world.until(
                lambda found: found["spec"].get("internalRegistryPullSecret") == encoded(auths),
                CONTROLLER_CONFIG,
            )


async def test_what_every_openshift_has(tmp_path: Path) -> None:
    """A config without its network would be rendered, and would be wrong."""
    async with embedded(tmp_path) as world:
        await world.openshift("Infrastructure", "infrastructures", **INFRASTRUCTURE)
        async with world.operator():
            found = await world.until(lambda found: said(found, "Degraded") == "True")
            assert 'networks.config.openshift.io "cluster" not found' in message(found, "Degraded")


async def test_a_plain_cluster_needs_nothing(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world, world.operator():
        config = await world.until(lambda found: found.get("status"), CONTROLLER_CONFIG)
        assert config["spec"]["infra"]["status"]["apiServerInternalURI"] == "https://api.example:6443"
        assert decoded(config, "kubeAPIServerServingCAData") == "ca"


async def test_a_plain_cluster_may_say_the_same(tmp_path: Path) -> None:
    """In a ConfigMap, a document of OpenShift's per key."""
    own = {
        "network.yaml": "spec: {serviceNetwork: [10.96.0.0/12, 'fd00::/108'], networkType: Calico}",
        "dns.yaml": "spec: {baseDomain: example}",
        "proxy.yaml": "status: {httpProxy: 'http://proxy:3128'}",
        "infrastructure.yaml": "status: {apiServerInternalURI: 'https://api:6443', platform: BareMetal}",
    }
    async with embedded(tmp_path) as world:
        await world.config_map(names.NAMESPACE, "cluster-config", own)
        async with world.operator():
            config = await world.until(lambda found: found.get("status"), CONTROLLER_CONFIG)
            spec = config["spec"]
            assert (spec["clusterDNSIP"], spec["ipFamilies"]) == ("10.96.0.10", "DualStack")
            assert (spec["networkType"], spec["platform"]) == ("Calico", "baremetal")
            assert spec["dns"]["spec"] == {"baseDomain": "example"}
            assert spec["proxy"] == {"httpProxy": "http://proxy:3128"}
            assert "imageRegistryBundleData" not in spec


@pytest.mark.parametrize(
    ("key", "text", "said_of_it"),
    [
        ("network.yaml", "spec: {serviceNetwork: [10.0.0.0/99]}", "invalid CIDR address: 10.0.0.0/99"),
        ("dns.yaml", "- 1", "dns.yaml is not one object"),
        ("proxy.yaml", "spec: [", "cluster-config, proxy.yaml"),
        ("apiserver.yaml", "spec: {tlsSecurityProfile: 1}", "this is no APIServer object"),
        ("controller.yaml", "keepYoung: -1", "controller.yaml: Expected `float` >= 0.0 - at `$.keepYoung`"),
    ],
)
async def test_what_cannot_be_used_is_named(tmp_path: Path, key: str, text: str, said_of_it: str) -> None:
    async with embedded(tmp_path) as world:
        await world.config_map(names.NAMESPACE, "cluster-config", {key: text})
        async with world.operator():
            found = await world.until(lambda found: said(found, "Degraded") == "True")
            assert reason(found, "Degraded") == "RenderConfigFailed"
            assert said_of_it in message(found, "Degraded")


async def test_a_trust_bundle_that_is_none(tmp_path: Path, certificates: dict[str, str]) -> None:
    async with embedded(tmp_path) as world:
        await openshift(
            world, certificates | {"user": "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"}
        )
        async with world.operator():
            found = await world.until(lambda found: said(found, "Degraded") == "True")
            text = "configmap openshift-config/user-ca-bundle doesn't have a valid PEM bundle"
            assert text in message(found, "Degraded")


def test_the_signer_of_kubelets_is_replaced(certificates: dict[str, str]) -> None:
    """A block that cannot be read is left out, and ends nothing."""
    name = "kube-apiserver-to-kubelet-signer"
    old, new = certificates[name], pem(name)
    broken = "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"
    initial = certificates["initial"]
    made = bundle.replaced((broken + old + initial).encode(), name, new.encode()).decode()
    assert made == new + initial
    assert bundle.replaced(initial.encode(), name, new.encode()).decode() == initial
    assert bundle.replaced(initial.encode(), name, b"").decode() == initial
