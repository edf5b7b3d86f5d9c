"""The disruption policies that hold, in the MachineConfiguration's status (spec/node.md 6.3)."""

from __future__ import annotations

import msgspec

from mco.api import resources
from mco.api.machineconfiguration import MachineConfiguration
from mco.kube.client import Client
from mco.operator import ensure
from mco.plan.node.policies import merged


async def keep(client: Client, configuration: MachineConfiguration) -> MachineConfiguration:
    """Writes the built-in ones merged with the user's, when the status says otherwise. Returns the
    configuration as it is then; raises ConflictError when it changed meanwhile."""
    policy = merged(configuration.spec.node_disruption_policy)
    status = configuration.status
    if (
        status.node_disruption_policy_status.cluster_policies == policy
        and status.observed_generation == configuration.metadata.generation
    ):
        return configuration
    body = {
        "observedGeneration": configuration.metadata.generation,
        "nodeDisruptionPolicyStatus": {"clusterPolicies": msgspec.to_builtins(policy)},
    }
    return await ensure.patched(
        client, resources.MACHINE_CONFIGURATIONS, configuration, {"status": body}, subresource="status"
    )
