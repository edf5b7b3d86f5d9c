"""The admission policies of the product, on servers that have such policies (spec/node.md 1.14)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mco.api import configcopies, names
from mco.api.core import Node
from mco.api.meta.objects import ObjectMeta
from tests.contract.apiserver.definitions import define
from tests.contract.apiserver.endpoint import Api, Body, Endpoint
from tests.contract.crds.formatcases import HEX, IMAGE
from tests.contract.crds.policies import (
    ADMISSION,
    BY_NAME,
    PLURALS,
    Attempt,
    an_object,
    creation_of,
    lax_definition,
    path_of,
    put_in_force,
    take_back,
)

pytestmark = pytest.mark.usefixtures("served")


@pytest.fixture
async def served(api: Api) -> None:
    """Skips where there are no such policies; elsewhere the kinds are there, without schemas."""
    if (await api.get(ADMISSION)).status != 200:
        pytest.skip("the server has no ValidatingAdmissionPolicies")
    for kind, plural in PLURALS.items():
        await define(api, lax_definition(kind, plural))


def _pool(**selector: Any) -> Body:
    return an_object("MachineConfigPool", "infra", spec={"machineConfigSelector": selector})


def _role(operator: str, *values: str) -> Mapping[str, Any]:
    return {"key": names.ROLE_LABEL, "operator": operator, "values": list(values)}


POOLS: Mapping[str, tuple[Body, bool]] = {
    "worker": (_pool(matchLabels={names.ROLE_LABEL: "worker"}), True),
    "master": (_pool(matchLabels={names.ROLE_LABEL: "master"}), True),
    "arbiter": (_pool(matchLabels={names.ROLE_LABEL: "arbiter"}), True),
    "another role": (_pool(matchLabels={names.ROLE_LABEL: "infra"}), False),
    "another label": (_pool(matchLabels={"a": "worker"}), False),
    "in worker and itself": (_pool(matchExpressions=[_role("In", "worker", "infra")]), True),
    "in itself": (_pool(matchExpressions=[_role("In", "infra")]), False),
    "not in something": (_pool(matchExpressions=[_role("NotIn", "master")]), True),
    "not in worker": (_pool(matchExpressions=[_role("NotIn", "worker")]), False),
    "wrong label, right expression": (
        _pool(matchLabels={"a": "b"}, matchExpressions=[_role("In", "worker")]),
        True,
    ),
    "empty": (_pool(), False),
    "none": (an_object("MachineConfigPool", "infra", spec={}), False),
    "a role that only has to be there": (
        _pool(matchExpressions=[{"key": names.ROLE_LABEL, "operator": "Exists"}]),
        False,
    ),
    "in worker by another label": (
        _pool(matchExpressions=[{"key": "a", "operator": "In", "values": ["worker"]}]),
        False,
    ),
    "one of two expressions": (_pool(matchExpressions=[_role("In", "infra"), _role("In", "worker")]), True),
    "an expression without values": (
        _pool(matchExpressions=[{"key": names.ROLE_LABEL, "operator": "In"}]),
        False,
    ),
}


async def test_pools_inherit_from_worker(api: Api) -> None:
    policy = BY_NAME["custom-machine-config-pool-selector"]
    text = await put_in_force(api, policy, creation_of(api, POOLS["another role"][0]))
    assert policy.checks[0].text in text
    outcome = {name: (await creation_of(api, body)()).status == 201 for name, (body, _) in POOLS.items()}
    assert outcome == {name: allowed for name, (_, allowed) in POOLS.items()}
    await take_back(api, policy.name)


async def test_streams_of_pools_exist(api: Api) -> None:
    policy = BY_NAME["machineconfigpool-osimagestream-reference-validation"]

    def pool(stream: str) -> Attempt:
        spec = {"osImageStream": {"name": stream}} if stream else {}
        return creation_of(api, an_object("MachineConfigPool", "infra", spec=spec))

    await put_in_force(api, policy, pool(""))  # without its parameter it denies everything
    stream = an_object("OSImageStream", "cluster", status={"availableStreams": [{"name": "rhel-9"}]})
    await api.create(path_of("OSImageStream"), stream)
    async with asyncio.timeout(30):
        while (await pool("")()).status != 201:
            pass
    assert (await pool("rhel-9")()).status == 201
    denied = await pool("rhel-10")()
    assert denied.status == 422 and policy.checks[0].text in denied.message
    await take_back(api, policy.name)
    await api.delete(path_of("OSImageStream", "cluster"))


async def test_streams_stay(api: Api) -> None:
    policy = BY_NAME["osimagestream-prevent-deletion"]
    await api.create(path_of("OSImageStream"), an_object("OSImageStream", "cluster"))
    path = path_of("OSImageStream", "cluster")
    text = await put_in_force(api, policy, lambda: api.delete(path, dryRun="All"))
    assert "Deletion of OSImageStream resources is not allowed" in text
    await take_back(api, policy.name)
    async with asyncio.timeout(30):
        while (await api.delete(path)).status == 422:
            pass


async def test_there_is_one_configuration(api: Api) -> None:
    policy = BY_NAME["machine-configuration-guards"]
    text = await put_in_force(api, policy, creation_of(api, an_object("MachineConfiguration", "default")))
    assert policy.checks[0].text in text
    assert (await creation_of(api, an_object("MachineConfiguration", "cluster"))()).status == 201
    await take_back(api, policy.name)


PLATFORMS = {
    "GCP": (True, True),
    "AWS": (True, True),
    "Azure": (True, True),
    "VSphere": (True, False),
    "None": (False, False),
}
"""Whether boot images of machine sets, and of the control plane, are managed."""


async def test_boot_images_are_managed_on_some_platforms(api: Api) -> None:
    def configuration(*managers: str) -> Attempt:
        images = {"managedBootImages": {"machineManagers": [{"resource": name} for name in managers]}}
        spec = images if managers else {}
        return creation_of(api, an_object("MachineConfiguration", "cluster", spec=spec))

    workers, everything = (
        configuration("machinesets"),
        configuration("machinesets", "controlplanemachinesets"),
    )
    platform = an_object("Infrastructure", "cluster", status={"platformStatus": {"type": "None"}})
    await api.create(path_of("Infrastructure"), platform)
    policies = [BY_NAME[f"managed-bootimages-{part}platform-check"] for part in ("", "cpms-")]
    for policy, denied in zip(policies, (workers, everything), strict=True):
        assert "only supported on these platforms: GCP, AWS" in await put_in_force(api, policy, denied)
    for name, (of_workers, of_all) in PLATFORMS.items():
        await api.patch(path_of("Infrastructure", "cluster"), {"status": {"platformStatus": {"type": name}}})
        async with asyncio.timeout(30):
            while [(await each()).status == 201 for each in (workers, everything)] != [of_workers, of_all]:
                pass
        assert (await configuration()()).status == 201
    for policy in policies:
        await take_back(api, policy.name)
    await api.delete(path_of("Infrastructure", "cluster"))


CLAIM = "Impersonate_Extra_authentication.kubernetes.io%2Fnode_name"


async def test_a_daemon_reports_for_its_own_node(endpoint: Endpoint, api: Api) -> None:
    policy = BY_NAME["mcn-guards"]
    account = f"system:serviceaccount:{names.NAMESPACE}:machine-config-daemon"

    def user(name: str, **claims: str) -> Api:
        rights = {"Impersonate_User": name, "Impersonate_Group": "system:masters"}
        return Api.of(endpoint.kubeconfig.read_bytes(), **rights, **claims)

    def report(of: Api) -> Attempt:
        return creation_of(of, an_object("MachineConfigNode", "node-0"))

    async with (
        user(account) as anywhere,
        user(account, **{CLAIM: "node-0"}) as here,
        user(account, **{CLAIM: "node-1"}) as elsewhere,
        user("somebody") as other,
    ):
        text = await put_in_force(api, policy, report(anywhere))
        assert 'this user must have a "authentication.kubernetes.io/node-name" claim' in text
        denied = await report(elsewhere)()
        assert "updates to MCN node-0 can only be done from the MCN's owner node" in denied.message
        assert (await report(here)()).status == 201
        assert (await report(other)()).status == 201

        path, status = path_of("MachineConfigNode", "node-0"), {"status": {"observedGeneration": 1}}
        await here.create(path_of("MachineConfigNode"), an_object("MachineConfigNode", "node-0"))
        for place in (path, f"{path}/status"):
            assert (await elsewhere.patch(place, status)).status == 422
            assert (await anywhere.patch(place, status)).status == 422
            assert (await here.patch(place, status)).status == 200
            assert (await other.patch(place, status)).status == 200
    await take_back(api, policy.name)
    await api.delete(path)


async def test_a_release_in_use_stays(api: Api) -> None:
    policy = BY_NAME["internalreleaseimage-deletion-guard"]
    releases = [{"name": "r"}, {"name": "s", "image": f"localhost:22625/release@sha256:{HEX}"}]
    image = an_object("InternalReleaseImage", "cluster", status={"releases": releases})
    await api.create(path_of("InternalReleaseImage"), image)
    version = an_object("ClusterVersion", "version", status={"desired": {"image": IMAGE}})
    await api.create(path_of("ClusterVersion"), version)
    path = path_of("InternalReleaseImage", "cluster")
    text = await put_in_force(api, policy, lambda: api.delete(path, dryRun="All"))
    assert "Please upgrade or downgrade to a different release before deletion." in text
    nothing: tuple[Body | None, ...] = ({"releases": None, "conditions": []}, None)
    for status in nothing:
        await api.patch(path, {"status": status})
        assert (await api.delete(path, dryRun="All")).status == 200
    await api.patch(path, {"status": {"releases": releases}})
    assert (await api.delete(path, dryRun="All")).status == 422
    for other in (f"quay.io/release@sha256:{HEX[::-1]}", "quay.io/release:latest"):
        await api.patch(path_of("ClusterVersion", "version"), {"status": {"desired": {"image": other}}})
        async with asyncio.timeout(30):
            while (await api.delete(path, dryRun="All")).status != 200:
                pass
    await take_back(api, policy.name)
    await api.delete(path)
    await api.delete(path_of("ClusterVersion", "version"))


async def test_a_rendered_config_in_use_stays(api: Api) -> None:
    policy = BY_NAME["rendered-config-deletion-guard"]
    maps = f"/api/v1/namespaces/{names.NAMESPACE}/configmaps"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names.NAMESPACE}}
    await api.post("/api/v1/namespaces", namespace)
    marks = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": names.IN_USE_MAP}}
    await api.create(maps, marks | {"data": {"rendered-worker-1": "nodes w1 and w2"}})
    for name in ("rendered-worker-1", "rendered-worker-2"):
        await api.create(path_of("MachineConfig"), an_object("MachineConfig", name))
    used = path_of("MachineConfig", "rendered-worker-1")
    text = await put_in_force(api, policy, lambda: api.delete(used, dryRun="All"))
    assert "MachineConfig rendered-worker-1 is in use by nodes w1 and w2; to delete it all the same" in text
    assert (await api.delete(path_of("MachineConfig", "rendered-worker-2"))).status == 200
    await api.patch(used, {"metadata": {"annotations": {"a": "b"}}})
    assert (await api.delete(used, dryRun="All")).status == 422
    await api.patch(used, {"metadata": {"annotations": {names.ALLOW_DELETION: ""}}})
    assert (await api.delete(used, dryRun="All")).status == 200
    await api.patch(used, {"metadata": {"annotations": {names.ALLOW_DELETION: None}}})
    for change in ({"data": None}, None):
        if change is None:
            await api.delete(f"{maps}/{names.IN_USE_MAP}")
        else:
            await api.patch(f"{maps}/{names.IN_USE_MAP}", change)
        async with asyncio.timeout(30):
            while (await api.delete(used, dryRun="All")).status != 200:
                pass
    await take_back(api, policy.name)
    await api.delete(used)


NONCE, NODE = "0123456789abcdef", "node-0.example"
SECRETS = f"/api/v1/namespaces/{names.NAMESPACE}/secrets"


def _copy(*path: str, value: Any = None, remove: bool = False, size: int = 8) -> Body:
    """What node-0.example gives, changed in one place."""
    about = Node(metadata=ObjectMeta(name=NODE, uid="u"))
    body: Body = {"apiVersion": "v1", "kind": "Secret"} | configcopies.secret(about, NONCE, 0, bytes(size))
    *within, last = path or ("kind",)
    place: Any = body
    for key in within:
        place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
    if remove:
        del place[last]
    elif path:
        place[last] = value
    return body


def _named(name: str) -> Body:
    return _copy("metadata", "name", value=name)


COPIES: Mapping[str, tuple[Body, str]] = {
    "a copy": (_copy(), ""),
    "as large as can be": (_copy(size=configcopies.PART_BYTES), ""),
    "larger": (_copy(size=configcopies.PART_BYTES + 1), "of at most 900000 bytes"),
    "another name": (_named("router-certs"), "only make Secrets for its own copies, not router-certs"),
    "another node's": (_named(f"config-copy-{NONCE}-0.node-1"), "only make Secrets for its own copies"),
    "a node that ends so": (_named(f"config-copy-{NONCE}-0.x{NODE}"), "only make Secrets for its own copies"),
    "a part too many": (_named(f"config-copy-{NONCE}-4.{NODE}"), "only make Secrets for its own copies"),
    "no nonce": (_named(f"config-copy-x{NONCE[1:]}-0.{NODE}"), "only make Secrets for its own copies"),
    "another type": (_copy("type", value="Opaque"), "is an immutable Secret of type"),
    "no type": (_copy("type", remove=True), "is an immutable Secret of type"),
    "one that can be changed": (_copy("immutable", value=False), "is an immutable Secret of type"),
    "by default": (_copy("immutable", remove=True), "is an immutable Secret of type"),
    "no label": (_copy("metadata", "labels", remove=True), "has the label"),
    "one more": (_copy("metadata", "labels", "a", value="b"), "has the label"),
    "another request's": (_copy("metadata", "labels", names.COPY_LABEL, value="f" * 16), "has the label"),
    "an annotation": (_copy("metadata", "annotations", "a", value="b"), "has the label"),
    "a finalizer": (_copy("metadata", "finalizers", value=["example.com/never"]), "has the label"),
    "no owner": (_copy("metadata", "ownerReferences", remove=True), "is owned by the Node"),
    "another owner": (
        _copy("metadata", "ownerReferences", "0", "name", value="node-1"),
        "is owned by the Node",
    ),
    "a Pod": (_copy("metadata", "ownerReferences", "0", "kind", value="Pod"), "is owned by the Node"),
    "an owner that waits": (
        _copy("metadata", "ownerReferences", "0", "blockOwnerDeletion", value=True),
        "is owned by the Node",
    ),
    "no data": (_copy("data", remove=True), "holds one part"),
    "more data": (_copy("data", "more", value=""), "holds one part"),
    "other data": (_copy("data", value={"other": ""}), "holds one part"),
}


async def test_a_node_makes_secrets_of_its_own_copies_only(endpoint: Endpoint, api: Api) -> None:
    policy = BY_NAME["config-copy-guards"]
    labels = {"kubernetes.io/metadata.name": names.NAMESPACE}
    namespace = {"apiVersion": "v1", "kind": "Namespace"}
    await api.post(
        "/api/v1/namespaces", namespace | {"metadata": {"name": names.NAMESPACE, "labels": labels}}
    )
    account = f"system:serviceaccount:{names.NAMESPACE}:machine-config-daemon"

    def user(name: str, **claims: str) -> Api:
        rights = {"Impersonate_User": name, "Impersonate_Group": "system:masters"}
        return Api.of(endpoint.kubeconfig.read_bytes(), **rights, **claims)

    def creation(of: Api, body: Body) -> Attempt:
        return lambda: of.post(SECRETS, body, dryRun="All")

    async with (
        user(account) as anywhere,
        user(account, **{CLAIM: NODE}) as pod,
        user(account, **{CLAIM: "node-1"}) as elsewhere,
        user(f"system:node:{NODE}") as machine,
        user("system:node:node-1") as other,
        user("somebody") as person,
    ):
        await put_in_force(api, policy, creation(machine, COPIES["another name"][0]))
        for who in (pod, machine):
            for what, (body, text) in COPIES.items():
                reply = await creation(who, body)()
                said = reply.message if reply.status != 201 else ""
                assert bool(said) == bool(text) and text in said, (what, said)
        for stranger in (elsewhere, other):
            assert "only make Secrets for its own" in (await creation(stranger, _copy())()).message
        assert "claim" in (await creation(anywhere, _copy())()).message
        assert (await creation(person, COPIES["another name"][0])()).status == 201

        path = f"{SECRETS}/{_copy()['metadata']['name']}"
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
        node = await api.post("/api/v1/nodes", body)
        uid = node.body["metadata"]["uid"]  # without its owner it is gone before it is looked at
        await machine.create(SECRETS, _copy("metadata", "ownerReferences", "0", "uid", value=uid))
        for who in (pod, machine):
            change = await who.patch(path, {"metadata": {"labels": {names.COPY_LABEL: "f" * 16}}})
            assert (change.status, "may not change Secrets" in change.message) == (422, True)
            deletion = await who.delete(path)
            assert (deletion.status, "may not change Secrets" in deletion.message) == (422, True)
        assert (await person.delete(path)).status == 200
    await api.delete(f"/api/v1/nodes/{NODE}")
    await take_back(api, policy.name)


async def test_network_policies_are_protected(endpoint: Endpoint, api: Api) -> None:
    networks = f"/apis/networking.k8s.io/v1/namespaces/{names.NAMESPACE}/networkpolicies"
    labels = {"kubernetes.io/metadata.name": names.NAMESPACE}
    await api.post(
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names.NAMESPACE, "labels": labels}},
    )
    if (await api.get(networks)).status != 200:
        pytest.skip("the server has no NetworkPolicies")
    for name in ("default-deny", "mine"):
        body = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}}
        await api.create(networks, body | {"spec": {"podSelector": {}}})
    label = {"metadata": {"labels": {"a": "b"}}}
    deletion = await put_in_force(
        api,
        BY_NAME["networkpolicy-prevent-deletion"],
        lambda: api.delete(f"{networks}/default-deny", dryRun="All"),
    )
    assert f"Deletion of MCO-managed NetworkPolicy resources in the {names.NAMESPACE}" in deletion
    update = await put_in_force(
        api,
        BY_NAME["networkpolicy-prevent-update"],
        lambda: api.patch(f"{networks}/default-deny", label, dryRun="All"),
    )
    assert f"Modification of MCO-managed NetworkPolicy resources in the {names.NAMESPACE}" in update
    assert (await api.patch(f"{networks}/mine", label)).status == 200
    assert (await api.delete(f"{networks}/mine")).status == 200
    operator = f"system:serviceaccount:{names.NAMESPACE}:machine-config-operator"
    kubeconfig = endpoint.kubeconfig.read_bytes()
    async with Api.of(kubeconfig, Impersonate_User=operator, Impersonate_Group="system:masters") as itself:
        assert (await itself.patch(f"{networks}/default-deny", label)).status == 200
    for name in ("networkpolicy-prevent-deletion", "networkpolicy-prevent-update"):
        await take_back(api, name)
    async with asyncio.timeout(30):
        while (await api.delete(f"{networks}/default-deny")).status == 422:
            pass
