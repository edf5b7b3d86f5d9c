"""What stands behind a pool that cannot be rendered: its condition holds the original's sentence only."""

from __future__ import annotations

from mco.api import resources
from mco.api.findings import Finding, errors
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.manifests import Manifests
from mco.kube.client import Client
from mco.render.audit import audit


async def diagnose(client: Client, pools: list[MachineConfigPool]) -> tuple[Finding, ...]:
    """Everything wrong in the MachineConfigs of a cluster, each with object, path and hint. What was rendered
    from them repeats it, and is left out."""
    found = await client.list(resources.MACHINE_CONFIGS)
    inputs = tuple(config for config in found.items if config.metadata.controller() is None)
    return errors(audit(Manifests(machine_configs=inputs, pools=tuple(pools))))
