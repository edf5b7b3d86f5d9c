"""The admission policies of the product, on servers that have such policies (spec/node.md 1.14).

They stand here for groups of the tests, so that they deny nothing to others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.policies import POLICIES, Policy, binding_object, policy_object
from tests.contract.apiserver.definitions import define
from tests.contract.apiserver.endpoint import Api, Body, Endpoint, Reply
from tests.contract.crds.formatcases import HEX, IMAGE

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
GROUP = "policies.example.com"
BY_NAME = {policy.name: policy for policy in POLICIES}
PLURALS = {
    "MachineConfigPool": "machineconfigpools",
    "MachineConfigNode": "machineconfignodes",
    "MachineConfiguration": "machineconfigurations",
    "OSImageStream": "osimagestreams",
    "InternalReleaseImage": "internalreleaseimages",
    "Infrastructure": "infrastructures",
    "ClusterVersion": "clusterversions",
}
Attempt = Callable[[], Awaitable[Reply]]

pytestmark = pytest.mark.usefixtures("served")


@pytest.fixture
async def served(api: Api) -> None:
    """Skips where there are no such policies; elsewhere the kinds are there, without schemas."""
    if (await api.get(ADMISSION)).status != 200:
        pytest.skip("the server has no ValidatingAdmissionPolicies")
    for kind, plural in PLURALS.items():
        await define(api, _definition(kind, plural))


def _definition(kind: str, plural: str) -> Body:
    everything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": everything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


def _object(kind: str, name: str, **parts: Any) -> Body:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, **parts}


def _path(kind: str, name: str = "") -> str:
    return f"/apis/{GROUP}/v1/{PLURALS[kind]}" + (f"/{name}" if name else "")


def _creation(api: Api, body: Body) -> Attempt:
    return lambda: api.post(_path(body["kind"]), body, dryRun="All")


async def _install(api: Api, policy: Policy, denied: Attempt) -> str:
    """Puts the policy in force for our group; the text with which it denies that request."""
    parameter = policy.parameter
    if parameter is not None:
        parameter = msgspec.structs.replace(parameter, api_version=f"{GROUP}/v1")
    group = policy.group if policy.namespaced else GROUP
    policy = msgspec.structs.replace(policy, group=group, parameter=parameter)
    for plural, body in (
        ("validatingadmissionpolicies", policy_object(policy)),
        ("validatingadmissionpolicybindings", binding_object(policy)),
    ):
        reply = await api.post(f"{ADMISSION}/{plural}", body)
        assert reply.status in (201, 409), reply.body
    async with asyncio.timeout(30):
        while (reply := await denied()).status != 422:
            assert reply.status < 500, reply.body
    return reply.message


async def _remove(api: Api, name: str) -> None:
    await api.delete(f"{ADMISSION}/validatingadmissionpolicybindings/{name}-binding")
    await api.delete(f"{ADMISSION}/validatingadmissionpolicies/{name}")


def _pool(**selector: Any) -> Body:
    return _object("MachineConfigPool", "infra", spec={"machineConfigSelector": selector})


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
    "none": (_object("MachineConfigPool", "infra", spec={}), False),
}


async def test_pools_inherit_from_worker(api: Api) -> None:
    policy = BY_NAME["custom-machine-config-pool-selector"]
    text = await _install(api, policy, _creation(api, POOLS["another role"][0]))
    assert policy.checks[0].text in text
    outcome = {name: (await _creation(api, body)()).status == 201 for name, (body, _) in POOLS.items()}
    assert outcome == {name: allowed for name, (_, allowed) in POOLS.items()}
    await _remove(api, policy.name)


async def test_streams_of_pools_exist(api: Api) -> None:
    policy = BY_NAME["machineconfigpool-osimagestream-reference-validation"]

    def pool(stream: str) -> Attempt:
        spec = {"osImageStream": {"name": stream}} if stream else {}
        return _creation(api, _object("MachineConfigPool", "infra", spec=spec))

    await _install(api, policy, pool(""))  # without its parameter it denies everything
    stream = _object("OSImageStream", "cluster", status={"availableStreams": [{"name": "rhel-9"}]})
    await api.create(_path("OSImageStream"), stream)
    async with asyncio.timeout(30):
        while (await pool("")()).status != 201:
            pass
    assert (await pool("rhel-9")()).status == 201
    denied = await pool("rhel-10")()
    assert denied.status == 422 and policy.checks[0].text in denied.message
    await _remove(api, policy.name)
    await api.delete(_path("OSImageStream", "cluster"))


async def test_streams_stay(api: Api) -> None:
    policy = BY_NAME["osimagestream-prevent-deletion"]
    await api.create(_path("OSImageStream"), _object("OSImageStream", "cluster"))
    path = _path("OSImageStream", "cluster")
    text = await _install(api, policy, lambda: api.delete(path, dryRun="All"))
    assert "Deletion of OSImageStream resources is not allowed" in text
    await _remove(api, policy.name)
    async with asyncio.timeout(30):
        while (await api.delete(path)).status == 422:
            pass


async def test_there_is_one_configuration(api: Api) -> None:
    policy = BY_NAME["machine-configuration-guards"]
    text = await _install(api, policy, _creation(api, _object("MachineConfiguration", "default")))
    assert policy.checks[0].text in text
    assert (await _creation(api, _object("MachineConfiguration", "cluster"))()).status == 201
    await _remove(api, policy.name)


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
        return _creation(api, _object("MachineConfiguration", "cluster", spec=spec))

    workers, everything = (
        configuration("machinesets"),
        configuration("machinesets", "controlplanemachinesets"),
    )
    platform = _object("Infrastructure", "cluster", status={"platformStatus": {"type": "None"}})
    await api.create(_path("Infrastructure"), platform)
    policies = [BY_NAME[f"managed-bootimages-{part}platform-check"] for part in ("", "cpms-")]
    for policy, denied in zip(policies, (workers, everything), strict=True):
        assert "only supported on these platforms: GCP, AWS" in await _install(api, policy, denied)
    for name, (of_workers, of_all) in PLATFORMS.items():
        await api.patch(_path("Infrastructure", "cluster"), {"status": {"platformStatus": {"type": name}}})
        async with asyncio.timeout(30):
            while [(await each()).status == 201 for each in (workers, everything)] != [of_workers, of_all]:
                pass
        assert (await configuration()()).status == 201
    for policy in policies:
        await _remove(api, policy.name)
    await api.delete(_path("Infrastructure", "cluster"))


CLAIM = "Impersonate_Extra_authentication.kubernetes.io%2Fnode_name"


async def test_a_daemon_reports_for_its_own_node(endpoint: Endpoint, api: Api) -> None:
    policy = BY_NAME["mcn-guards"]
    account = f"system:serviceaccount:{names.NAMESPACE}:machine-config-daemon"

    def user(name: str, **claims: str) -> Api:
        rights = {"Impersonate_User": name, "Impersonate_Group": "system:masters"}
        return Api.of(endpoint.kubeconfig.read_bytes(), **rights, **claims)

    def report(of: Api) -> Attempt:
        return _creation(of, _object("MachineConfigNode", "node-0"))

    async with (
        user(account) as anywhere,
        user(account, **{CLAIM: "node-0"}) as here,
        user(account, **{CLAIM: "node-1"}) as elsewhere,
        user("somebody") as other,
    ):
        text = await _install(api, policy, report(anywhere))
        assert 'this user must have a "authentication.kubernetes.io/node-name" claim' in text
        denied = await report(elsewhere)()
        assert "updates to MCN node-0 can only be done from the MCN's owner node" in denied.message
        assert (await report(here)()).status == 201
        assert (await report(other)()).status == 201
    await _remove(api, policy.name)


async def test_a_release_in_use_stays(api: Api) -> None:
    policy = BY_NAME["internalreleaseimage-deletion-guard"]
    releases = [{"name": "r"}, {"name": "s", "image": f"localhost:22625/release@sha256:{HEX}"}]
    image = _object("InternalReleaseImage", "cluster", status={"releases": releases})
    await api.create(_path("InternalReleaseImage"), image)
    version = _object("ClusterVersion", "version", status={"desired": {"image": IMAGE}})
    await api.create(_path("ClusterVersion"), version)
    path = _path("InternalReleaseImage", "cluster")
    text = await _install(api, policy, lambda: api.delete(path, dryRun="All"))
    assert "Please upgrade or downgrade to a different release before deletion." in text
    for other in (f"quay.io/release@sha256:{HEX[::-1]}", "quay.io/release:latest"):
        await api.patch(_path("ClusterVersion", "version"), {"status": {"desired": {"image": other}}})
        async with asyncio.timeout(30):
            while (await api.delete(path, dryRun="All")).status != 200:
                pass
    await _remove(api, policy.name)
    await api.delete(path)
    await api.delete(_path("ClusterVersion", "version"))


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
    deletion = await _install(
        api,
        BY_NAME["networkpolicy-prevent-deletion"],
        lambda: api.delete(f"{networks}/default-deny", dryRun="All"),
    )
    assert f"Deletion of MCO-managed NetworkPolicy resources in the {names.NAMESPACE}" in deletion
    update = await _install(
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
        await _remove(api, name)
    async with asyncio.timeout(30):
        while (await api.delete(f"{networks}/default-deny")).status == 422:
            pass
