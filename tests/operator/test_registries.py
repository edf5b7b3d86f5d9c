"""Image registries, and the API server's authorities for new machines, on the embedded server
(spec/operator.md 1.6, 1.11)."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from mco.base.errors import NotFound
from mco.operator.kubeconfigdata import KubeconfigData
from mco.operator.registries import RegistryReader, keep_merged
from mco.plan.installation import kubeconfigdata, pullsecret, registries
from mco.plan.installation.registries import Registries
from tests.operator.world import Hands, World, embedded

MANAGED = names.OPENSHIFT_CONFIG_MANAGED
DNS = {"spec": {"baseDomain": "example"}}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def settings(world: World) -> None:
    await world.config_map(names.NAMESPACE, "namespace", {})
    await world.openshift("Image", "images", spec={"additionalTrustedCA": {"name": "user"}})
    await world.config_map("openshift-config", "user", {"b": encoded("user's")})
    await world.config_map(MANAGED, registries.MANAGED, {"a": "managed", "b": "managed"})


async def secret(world: World, namespace: str, name: str, key: str, auths: Any) -> None:
    legacy = key == ".dockercfg"
    document = auths if legacy else {"auths": auths}
    body = {
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/dockercfg" if legacy else "kubernetes.io/dockerconfigjson",
        "data": {key: encoded(msgspec.json.encode(document).decode())},
    }
    await world.client.create(SECRETS, body, namespace=namespace)


async def test_authorities(tmp_path: Path) -> None:
    """A missing ConfigMap of the user's is no failure; before the cluster is settled nobody looks for
    credentials."""
    async with embedded(tmp_path) as world:
        await settings(world)
        reader = RegistryReader(world.client, world.wholes)
        found = await reader.read(DNS, settled=False)
        assert found == Registries(managed={"a": b"managed", "b": b"managed"}, users={"b": b"user's"})
        await world.client.delete(CONFIG_MAPS, "user", namespace="openshift-config")
        assert (await reader.read(DNS, settled=True)).users == {}


async def test_the_merged_map(tmp_path: Path) -> None:
    """Written when something differs, also when nothing is left; what it had before goes away."""
    async with embedded(tmp_path) as world:
        await settings(world)

        async def merged(found: Registries) -> dict[str, str]:
            await keep_merged(world.client, found)
            made = await world.client.get(CONFIG_MAPS, registries.MERGED, namespace=MANAGED)
            assert made.metadata.annotation("openshift.io/owning-component") == "Machine Config Operator"
            return {**(made.data or {}), **(made.binary_data or {})}

        both = Registries(managed={"a": b"1"}, users={"b": b"2", "c": b"\xff"})
        assert await merged(both) == {"a": "1", "b": "2", "c": "/w=="}
        before = await world.client.get(CONFIG_MAPS, registries.MERGED, namespace=MANAGED)
        assert await merged(both) == {"a": "1", "b": "2", "c": "/w=="}
        after = await world.client.get(CONFIG_MAPS, registries.MERGED, namespace=MANAGED)
        assert after.metadata.resource_version == before.metadata.resource_version
        assert await merged(Registries(users={"c": b"3"})) == {"c": "3"}
        assert await merged(Registries()) == {}


async def test_credentials(tmp_path: Path) -> None:
    """None without the registry's operator, or without the account; afterwards what is missing is named."""
    async with embedded(tmp_path) as world:
        await settings(world)
        await world.kind("ClusterOperator", "clusteroperators")
        reader = RegistryReader(world.client, world.wholes)

        async def credentials() -> bytes:
            return (await reader.read(DNS, settled=True)).pull_secret

        assert await credentials() == b""
        operator = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator"}
        await world.wholes.create(operator | {"metadata": {"name": pullsecret.OPERATOR}})
        assert await credentials() == b""
        account = {"metadata": {"name": pullsecret.ACCOUNT}, "imagePullSecrets": [{"name": "one"}]}
        await world.client.create(SERVICE_ACCOUNTS, account, namespace=names.NAMESPACE)
        with pytest.raises(NotFound, match="failed to retrieve image pull secret one"):
            await credentials()
        await secret(world, names.NAMESPACE, "one", ".dockercfg", {"registry": {"auth": "YQ=="}})
        with pytest.raises(NotFound, match="error fetching cluster pull secret"):
            await credentials()
        await secret(
            world, "openshift-config", "pull-secret", ".dockerconfigjson", {"quay": {"auth": "Yg=="}}
        )
        auths = msgspec.json.decode(await credentials())["auths"]
        assert auths == {"quay": {"auth": "Yg=="}, "registry": {"auth": "YQ=="}}


async def test_authorities_for_new_machines(tmp_path: Path) -> None:
    """Made at once, replaced when they have settled; that it was done is said until somebody was told."""
    async with embedded(tmp_path) as world:
        await world.config_map(names.NAMESPACE, "namespace", {})
        clock = Hands()
        data = KubeconfigData(world.client, clock)

        async def stored() -> str:
            found = await world.client.get(CONFIG_MAPS, kubeconfigdata.NAME, namespace=names.NAMESPACE)
            return base64.b64decode((found.binary_data or {})[kubeconfigdata.KEY]).decode()

        assert not await data.keep(b"")
        assert await data.keep(b"first")
        assert await data.keep(b"first")
        data.told()
        assert not await data.keep(b"second")
        await clock.sleep(kubeconfigdata.SETTLE - 1)
        assert not await data.keep(b"third")
        await clock.sleep(kubeconfigdata.SETTLE)
        assert await stored() == "first"
        assert await data.keep(b"third")
        assert await stored() == "third"
        data.told()
        assert not await data.keep(b"third")


async def test_authorities_that_somebody_wrote_as_text(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world:
        await world.config_map(names.NAMESPACE, kubeconfigdata.NAME, {kubeconfigdata.KEY: "old"})
        clock = Hands()
        data = KubeconfigData(world.client, clock)
        assert not await data.keep(b"new")
        await clock.sleep(kubeconfigdata.SETTLE)
        assert await data.keep(b"new")
        found = await world.client.get(CONFIG_MAPS, kubeconfigdata.NAME, namespace=names.NAMESPACE)
        assert (found.data or {}, found.binary_data) == ({}, {kubeconfigdata.KEY: encoded("new")})
