"""The objects that an installation consists of, as builtins ready to create."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.meta.objects import JSON
from mco.plan.installation import images
from mco.plan.installation.conditions import OPERATOR, OPERATOR_IMAGE
from mco.plan.installation.discovered import Sources, fields
from mco.plan.node.target import EMPTY_NAME
from mco.plan.pool.waiting import ARBITER_TOPOLOGY


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between installations. `server` is the API server's URL as machines reach it, `ca` its
    PEM bundle; `version` is the program's (`version.Raw`), `commit` its source's. `image` runs the other
    components; without one somebody else runs them, as `mco up` does. `other_images` by their names in
    images.json."""

    server: str
    ca: bytes
    version: str
    base_os_image: str = ""
    base_os_extensions_image: str = ""
    topology: str = "External"
    commit: str = ""
    image: str = ""
    other_images: Mapping[str, str] = {}

    @property
    def versions(self) -> dict[str, str]:
        """What the ClusterOperator reports."""
        return {OPERATOR: self.version} | ({OPERATOR_IMAGE: self.image} if self.image else {})


def namespaces() -> Sequence[JSON]:
    """Where events and leases of this project go."""
    return [_object("v1", "Namespace", name) for name in (names.NAMESPACE, names.NODE_LEASE_NAMESPACE)]


def pools(topology: str = "") -> Sequence[JSON]:
    """The built-in pools (spec/operator.md 1.10); worker is not required for an upgrade, and arbiters there
    are only in their topology."""
    arbiters = [names.ARBITER] if topology == ARBITER_TOPOLOGY else []
    return [_pool(name) for name in (names.MASTER, names.WORKER, *arbiters)]


def _pool(name: str) -> JSON:
    labels = {names.BUILT_IN_LABEL: "", f"{names.POOL_LABEL_PREFIX}{name}": ""}
    if name != names.WORKER:
        labels[names.REQUIRED_FOR_UPGRADE_LABEL] = ""
    pool = _object(names.API_VERSION, "MachineConfigPool", name, labels=labels)
    pool["spec"] = {
        "machineConfigSelector": {"matchLabels": {names.ROLE_LABEL: name}},
        "nodeSelector": {"matchLabels": {f"{names.NODE_ROLE_PREFIX}{name}": ""}},
    }
    return pool


_NOTHING_FOUND = Sources()


def controller_config(installation: Installation, found: Sources = _NOTHING_FOUND) -> JSON:
    """What a cluster does not say of itself is there because the schema requires it
    (spec/controllerconfig.md 5). Raises InvalidInput for what was found and cannot be used."""
    ca = base64.b64encode(installation.ca).decode()
    config = _object(names.API_VERSION, "ControllerConfig", names.CONTROLLER_CONFIG)
    config["metadata"]["annotations"] = {
        names.GENERATED_BY_VERSION: installation.version,
        names.RELEASE_IMAGE_VERSION: installation.version,
    }
    config["spec"] = {
        "additionalTrustBundle": None,
        "baseOSContainerImage": installation.base_os_image,
        "baseOSExtensionsContainerImage": installation.base_os_extensions_image,
        "cloudProviderCAData": None,
        "cloudProviderConfig": "",
        "clusterDNSIP": "",
        "dns": None,
        "images": images.for_nodes({**installation.other_images, images.OURS: installation.image}),
        "infra": {
            "apiVersion": "config.openshift.io/v1",
            "kind": "Infrastructure",
            "spec": {},
            "status": {
                "apiServerInternalURI": installation.server,
                "controlPlaneTopology": installation.topology,
            },
        },
        "ipFamilies": "IPv4",
        "kubeAPIServerServingCAData": ca,
        "network": None,
        "proxy": None,
        "releaseImage": "",
        "rootCAData": ca,
    } | fields(found, installation.version)
    return config


def marked(config: JSON, *, rotated: bool) -> JSON:
    """The ControllerConfig, which tells nodes whether the authorities of the API server were changed just
    now (spec/operator.md 1.11)."""
    metadata = config["metadata"]
    annotations = metadata["annotations"] | {names.SERVICE_CA_ROTATE: str(rotated).lower()}
    return {**config, "metadata": {**metadata, "annotations": annotations}}


def machine_configuration() -> JSON:
    configuration = _object(f"{names.OPERATOR_GROUP}/v1", "MachineConfiguration", names.MACHINE_CONFIGURATION)
    configuration["spec"] = {"managementState": "Managed"}
    return configuration


def machine_config_node(node: Node, pool: str) -> JSON:
    """The report of one node (spec/operator.md 1.9); its desired config comes from the node's annotation. The
    empty config of a machine that was there before is nothing that anybody wants."""
    desired = node.metadata.annotation(names.DESIRED_CONFIG)
    report = _object(names.API_VERSION, "MachineConfigNode", node.name)
    report["metadata"]["ownerReferences"] = [owner(node)]
    report["spec"] = {
        "node": {"name": node.name},
        "pool": {"name": pool},
        "configVersion": {"desired": names.NOT_YET_SET if desired in (None, "", EMPTY_NAME) else desired},
    }
    return report


def owner(node: Node) -> JSON:
    return {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.metadata.uid}


def _object(
    api_version: str, kind: str, name: str, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
