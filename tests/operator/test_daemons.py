"""A rollout holds exactly those nodes whose own daemon is absent or of another version (spec/operator.md 0.1,
d): on the embedded server, whose lack of workloads also shows that a function that fails stops no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mco.api import names, resources
from mco.api.machineconfignode import UPDATE_HOLD
from mco.payload import operands
from tests.operator.world import World, embedded, reason, said

IMAGE = "example/mco:1"
OPERANDS = operands.load(operands.Setting(image=IMAGE, server="https://api.example:6443"))


async def daemon(world: World, node: str, image: str = IMAGE) -> None:
    metadata = {
        "name": f"daemon-{node}",
        "namespace": names.NAMESPACE,
        "labels": {"k8s-app": "machine-config-daemon"},
    }
    spec = {"nodeName": node, "containers": [{"name": "machine-config-daemon", "image": image}]}
    await world.client.create(resources.PODS, {"metadata": metadata, "spec": spec}, namespace=names.NAMESPACE)
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await world.client.patch(
        resources.PODS, f"daemon-{node}", status, namespace=names.NAMESPACE, subresource="status"
    )


def hold(found: dict[str, Any]) -> str:
    annotations: dict[str, str] = found["metadata"].get("annotations") or {}
    return annotations.get(UPDATE_HOLD, "")


def report(node: str) -> tuple[str, ...]:
    return names.API_VERSION, "MachineConfigNode", node


async def test_nodes_are_held_one_by_one(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world, world.operator(image=IMAGE, operands=OPERANDS):
        for name in ("a", "b"):
            labels = {"node-role.kubernetes.io/worker": ""}
            await world.client.create(resources.NODES, {"metadata": {"name": name, "labels": labels}})
            await world.until(
                lambda found: hold(found) == "no machine config daemon runs on it", report(name)
            )
        await daemon(world, "a")
        await daemon(world, "b", "example/mco:0")
        await world.until(lambda found: not hold(found), report("a"))
        await world.until(lambda found: hold(found).endswith("daemon-b, is of another version"), report("b"))
        await world.client.delete(resources.PODS, "daemon-b", namespace=names.NAMESPACE)
        await world.until(lambda found: hold(found).startswith("no machine config daemon"), report("b"))


async def test_a_function_that_fails_stops_no_other(tmp_path: Path) -> None:
    """There is nothing that could run components here; all the rest is done."""
    async with embedded(tmp_path) as world:
        body: dict[str, Any] = {"metadata": {"name": "openshift-machine-api"}}
        await world.client.create(resources.NAMESPACES, body)
        async with world.operator(image=IMAGE, operands=OPERANDS):
            which = (names.API_VERSION, "ControllerConfig", names.CONTROLLER_CONFIG)
            config = await world.until(lambda found: found.get("status"), which)
            images = {"machineConfigOperator": IMAGE, "apiServerWatcherKey": IMAGE}
            assert config["spec"]["images"] == images
            secret = ("v1", "Secret", "worker-user-data-managed", "openshift-machine-api")
            await world.until(lambda found: found["data"].get("userData"), secret)
            await world.until(lambda _: True, ("v1", "Secret", "machine-config-server-tls", names.NAMESPACE))
            settings = ("operator.openshift.io/v1", "MachineConfiguration", "cluster")
            found = await world.until(lambda found: said(found, "Degraded") == "True", settings)
            assert reason(found, "Degraded") == "NetworkPoliciesFailed"
