"""The product's admission policies in a group of the tests, so that they deny nothing to others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from mco.api.admission import Policy, binding_object, policy_object
from mco.api.policies import POLICIES
from tests.contract.apiserver.endpoint import Api, Body, Reply

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
GROUP = "policies.example.com"
BY_NAME = {policy.name: policy for policy in POLICIES}
PLURALS = {
    "MachineConfig": "machineconfigs",
    "MachineConfigPool": "machineconfigpools",
    "MachineConfigNode": "machineconfignodes",
    "MachineConfiguration": "machineconfigurations",
    "OSImageStream": "osimagestreams",
    "InternalReleaseImage": "internalreleaseimages",
    "Infrastructure": "infrastructures",
    "ClusterVersion": "clusterversions",
}
Attempt = Callable[[], Awaitable[Reply]]


def lax_definition(kind: str, plural: str) -> Body:
    """Takes any object; the status of a MachineConfigNode is a subresource, as there is a policy for it."""
    everything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Body = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": everything}
    if kind == "MachineConfigNode":
        version["subresources"] = {"status": {}}
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


def an_object(kind: str, name: str, **parts: Any) -> Body:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, **parts}


def path_of(kind: str, name: str = "") -> str:
    return f"/apis/{GROUP}/v1/{PLURALS[kind]}" + (f"/{name}" if name else "")


def creation_of(api: Api, body: Body) -> Attempt:
    return lambda: api.post(path_of(body["kind"]), body, dryRun="All")


async def put_in_force(api: Api, policy: Policy, denied: Attempt) -> str:
    """Puts the policy in force for our group; the text with which it denies that request."""
    parameter = policy.parameter
    if parameter is not None and parameter.required:
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


async def take_back(api: Api, name: str) -> None:
    await api.delete(f"{ADMISSION}/validatingadmissionpolicybindings/{name}-binding")
    await api.delete(f"{ADMISSION}/validatingadmissionpolicies/{name}")
