"""CustomResourceDefinitions of our kinds: names, scope, columns, subresources, schemas (spec/node.md 1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from mco.api import columns, names
from mco.api import gates as feature_gates
from mco.api.columns import Column
from mco.api.crdschemas.containerruntimeconfig import CONTAINER_RUNTIME_CONFIG
from mco.api.crdschemas.controllerconfig import CONTROLLER_CONFIG
from mco.api.crdschemas.internalreleaseimage import INTERNAL_RELEASE_IMAGE, INTERNAL_RELEASE_IMAGE_ALPHA
from mco.api.crdschemas.kubeletconfig import KUBELET_CONFIG
from mco.api.crdschemas.machineconfig import MACHINE_CONFIG
from mco.api.crdschemas.machineconfignode import MACHINE_CONFIG_NODE
from mco.api.crdschemas.machineconfigpool import MACHINE_CONFIG_POOL
from mco.api.crdschemas.machineconfiguration import MACHINE_CONFIGURATION
from mco.api.crdschemas.machineosbuild import MACHINE_OS_BUILD
from mco.api.crdschemas.machineosconfig import MACHINE_OS_CONFIG
from mco.api.crdschemas.osimagestream import OS_IMAGE_STREAM, OS_IMAGE_STREAM_ALPHA
from mco.api.crdschemas.pinnedimageset import PINNED_IMAGE_SET
from mco.api.descriptions import configs, configuration, images, nodes
from mco.api.descriptions.apply import Texts, described
from mco.api.schema import string
from mco.api.variants import Schema, gates_of, resolve

OPERATOR_MANAGED_LABEL = "openshift.io/operator-managed"
ALPHA = "v1alpha1"


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """One kind. All of them are cluster-scoped and stored as v1; the schemas are marked (`api/variants`).

    `approval` is the pull request of the original's API that approved the kind: the value of an annotation.
    `alpha` is the schema of v1alpha1 where that is served too. `texts` describe the fields."""

    kind: str
    plural: str
    schema: Schema
    texts: Texts
    approval: int
    alpha: Schema | None = None
    group: str = names.GROUP
    short_names: tuple[str, ...] = ()
    status: bool = True
    columns: tuple[Column, ...] = ()
    labels: tuple[tuple[str, str], ...] = ((OPERATOR_MANAGED_LABEL, ""),)

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def gates(self) -> frozenset[str]:
        """The feature gates that change something of it."""
        return gates_of(self.schema) | gates_of(self.alpha)


DEFINITIONS = (
    Definition(
        kind="MachineConfig",
        plural="machineconfigs",
        short_names=("mc",),
        status=False,
        approval=1453,
        schema=MACHINE_CONFIG,
        texts=configs.MACHINE_CONFIG,
        columns=columns.MACHINE_CONFIG,
    ),
    Definition(
        kind="MachineConfigPool",
        plural="machineconfigpools",
        short_names=("mcp",),
        approval=1453,
        schema=MACHINE_CONFIG_POOL,
        texts=configs.MACHINE_CONFIG_POOL,
        columns=columns.MACHINE_CONFIG_POOL,
    ),
    Definition(
        kind="ControllerConfig",
        plural="controllerconfigs",
        approval=1453,
        schema=CONTROLLER_CONFIG,
        texts=configs.CONTROLLER_CONFIG,
    ),
    Definition(
        kind="KubeletConfig",
        plural="kubeletconfigs",
        approval=1453,
        schema=KUBELET_CONFIG,
        texts=configs.KUBELET_CONFIG,
    ),
    Definition(
        kind="ContainerRuntimeConfig",
        plural="containerruntimeconfigs",
        short_names=("ctrcfg",),
        approval=1453,
        schema=CONTAINER_RUNTIME_CONFIG,
        texts=configs.CONTAINER_RUNTIME_CONFIG,
    ),
    Definition(
        kind="MachineConfigNode",
        plural="machineconfignodes",
        # The original has no short name for it; ours is additive.
        short_names=("mcn",),
        approval=2255,
        schema=MACHINE_CONFIG_NODE,
        texts=nodes.MACHINE_CONFIG_NODE,
        columns=columns.MACHINE_CONFIG_NODE,
    ),
    Definition(
        kind="MachineOSConfig",
        plural="machineosconfigs",
        approval=2090,
        schema=MACHINE_OS_CONFIG,
        texts=images.MACHINE_OS_CONFIG,
    ),
    Definition(
        kind="MachineOSBuild",
        plural="machineosbuilds",
        approval=2090,
        schema=MACHINE_OS_BUILD,
        texts=images.MACHINE_OS_BUILD,
        columns=columns.MACHINE_OS_BUILD,
    ),
    Definition(
        kind="PinnedImageSet",
        plural="pinnedimagesets",
        status=False,
        approval=2198,
        schema=PINNED_IMAGE_SET,
        texts=images.PINNED_IMAGE_SET,
    ),
    Definition(
        kind="OSImageStream",
        plural="osimagestreams",
        approval=2555,
        schema=OS_IMAGE_STREAM,
        texts=images.OS_IMAGE_STREAM,
        alpha=OS_IMAGE_STREAM_ALPHA,
    ),
    Definition(
        kind="InternalReleaseImage",
        plural="internalreleaseimages",
        approval=2510,
        schema=INTERNAL_RELEASE_IMAGE,
        texts=images.INTERNAL_RELEASE_IMAGE,
        alpha=INTERNAL_RELEASE_IMAGE_ALPHA,
    ),
    Definition(
        kind="MachineConfiguration",
        plural="machineconfigurations",
        group=names.OPERATOR_GROUP,
        approval=1453,
        schema=MACHINE_CONFIGURATION,
        texts=configuration.MACHINE_CONFIGURATION,
        labels=(),
    ),
)


def definitions(
    wanted: Iterable[Definition] = DEFINITIONS,
    *,
    gates: Collection[str] = feature_gates.ALL,
) -> tuple[dict[str, Any], ...]:
    """The CustomResourceDefinition objects, ready to create, with these feature gates on."""
    return tuple(_object(definition, gates) for definition in wanted)


def _object(definition: Definition, gates: Collection[str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"annotations": _annotations(definition, gates), "name": definition.name}
    if definition.labels:
        metadata["labels"] = dict(definition.labels)
    kind_names: dict[str, Any] = {
        "kind": definition.kind,
        "listKind": f"{definition.kind}List",
        "plural": definition.plural,
        "singular": definition.kind.lower(),
    }
    if definition.short_names:
        kind_names["shortNames"] = list(definition.short_names)
    versions = [_version(definition, names.VERSION, resolve(definition.schema, gates))]
    if definition.alpha is not None:
        versions.append(_version(definition, ALPHA, resolve(definition.alpha, gates)))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": definition.group,
            "names": kind_names,
            "scope": "Cluster",
            "versions": versions,
        },
    }


def _annotations(definition: Definition, gates: Collection[str]) -> dict[str, str]:
    """What the original's installer reads (spec/controllerconfig.md 2)."""
    annotations = {
        "api-approved.openshift.io": f"https://github.com/openshift/api/pull/{definition.approval}",
        "api.openshift.io/merged-by-featuregates": "true",
        "include.release.openshift.io/self-managed-high-availability": "true",
    }
    if feature_set := _feature_set(definition.gates, gates):
        annotations["release.openshift.io/feature-set"] = feature_set
    else:
        annotations["include.release.openshift.io/ibm-cloud-managed"] = "true"
    return annotations


def _feature_set(named: frozenset[str], gates: Collection[str]) -> str:
    """The feature sets for which the definition is like this; empty when it is the same for all of them."""
    sets = feature_gates.FEATURE_SETS
    same = sorted(name for name, on in sets.items() if on & named == set(gates) & named)
    if len(same) == len(sets):
        return ""
    return "CustomNoUpgrade" if "CustomNoUpgrade" in same else ",".join(same)


def _version(definition: Definition, name: str, schema: Schema) -> dict[str, Any]:
    whole = {"apiVersion": string(), "kind": string(), "metadata": {"type": "object"}}
    whole |= schema.get("properties", {})
    version: dict[str, Any] = {
        "name": name,
        "schema": {"openAPIV3Schema": described({**schema, "properties": whole}, definition.texts)},
        "served": True,
        "storage": name == names.VERSION,
    }
    if definition.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in definition.columns]
    if definition.status:
        version["subresources"] = {"status": {}}
    return version


def _column(column: Column) -> dict[str, Any]:
    shown: dict[str, Any] = {"jsonPath": column.path, "name": column.name, "type": column.type}
    if column.description:
        shown["description"] = column.description
    if column.priority:
        shown["priority"] = column.priority
    return shown
