"""One pass over everything that an installation consists of; safe to repeat at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from mco.api import controllerconfig as cc
from mco.api import names, resources
from mco.api.crds import definitions
from mco.api.machineconfiguration import MachineConfiguration
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.kube.client import Client
from mco.operator import ensure, objects
from mco.operator.objects import Installation
from mco.plan.node.policies import merged
from mco.runtime.clock import Clock, rfc3339

_ESTABLISHED = "Established"


async def install(client: Client, installation: Installation, clock: Clock) -> None:
    """Applies CRDs, waits until they are served, then the objects in the order in which they are needed."""
    await _definitions(client)
    for body in objects.namespaces():
        await ensure.exists(client, resources.NAMESPACES, body)
    await settle(client, installation, clock)


async def settle(client: Client, installation: Installation, clock: Clock) -> None:
    """Brings back what somebody removed or changed of ControllerConfig, MachineConfiguration and built-in
    pools; writes nothing when they are right."""
    await _controller_config(client, installation, clock)
    await _machine_configuration(client)
    for body in objects.pools():
        await ensure.exists(client, resources.MACHINE_CONFIG_POOLS, body)


async def _definitions(client: Client) -> None:
    """Our CRDs are ours alone: an existing one is brought to this version's schema."""
    wanted = definitions()
    for body in wanted:
        await ensure.spec_equals(client, resources.CUSTOM_RESOURCE_DEFINITIONS, body)
    await asyncio.gather(*(_served(client, body["metadata"]["name"]) for body in wanted))


async def _served(client: Client, name: str) -> None:
    """A watch would be one more moving part for something that takes milliseconds."""
    while True:
        found = await client.request("GET", resources.CUSTOM_RESOURCE_DEFINITIONS.path(name))
        status = msgspec.json.decode(found).get("status") or {}
        if any(c["type"] == _ESTABLISHED and c["status"] == "True" for c in status.get("conditions") or ()):
            return
        await asyncio.sleep(0.05)


async def _controller_config(client: Client, installation: Installation, clock: Clock) -> None:
    """Without a template controller nothing is generated from it, so it is completed as soon as it is there
    (design.md 10)."""
    body = objects.controller_config(installation)
    await ensure.spec_equals(client, resources.CONTROLLER_CONFIGS, body)
    await ensure.decided(partial(_complete, client, installation, clock))


async def _complete(client: Client, installation: Installation, clock: Clock) -> None:
    config = await client.get(resources.CONTROLLER_CONFIGS, names.CONTROLLER_CONFIG)
    text = f"sync completed towards ({config.metadata.generation}) generation using controller version "
    conditions = config.status.conditions
    for new in (
        Condition(
            type=cc.TEMPLATE_CONTROLLER_COMPLETED, status=cond.TRUE, message=text + installation.version
        ),
        Condition(type=cc.TEMPLATE_CONTROLLER_RUNNING, status=cond.FALSE),
        Condition(type=cc.TEMPLATE_CONTROLLER_FAILING, status=cond.FALSE),
    ):
        conditions = cond.set_condition(conditions, new, rfc3339(clock.now()))
    if (
        conditions == config.status.conditions
        and config.status.observed_generation == config.metadata.generation
    ):
        return
    status: Mapping[str, Any] = {
        "observedGeneration": config.metadata.generation,
        "conditions": [msgspec.to_builtins(condition) for condition in conditions],
    }
    changes = {"status": status}
    await ensure.patched(client, resources.CONTROLLER_CONFIGS, config, changes, subresource="status")


async def _machine_configuration(client: Client) -> None:
    await ensure.exists(client, resources.MACHINE_CONFIGURATIONS, objects.machine_configuration())

    async def merge() -> None:
        name = names.MACHINE_CONFIGURATION
        await policies(client, await client.get(resources.MACHINE_CONFIGURATIONS, name))

    await ensure.decided(merge)


async def policies(client: Client, configuration: MachineConfiguration) -> None:
    """Writes the built-in disruption policies merged with the user's into the status (spec/node.md 6.3).
    Raises ConflictError when the configuration changed meanwhile."""
    policy = merged(configuration.spec.node_disruption_policy)
    status = configuration.status
    if (
        status.node_disruption_policy_status.cluster_policies == policy
        and status.observed_generation == configuration.metadata.generation
    ):
        return
    body = {
        "observedGeneration": configuration.metadata.generation,
        "nodeDisruptionPolicyStatus": {"clusterPolicies": msgspec.to_builtins(policy)},
    }
    await ensure.patched(
        client, resources.MACHINE_CONFIGURATIONS, configuration, {"status": body}, subresource="status"
    )
