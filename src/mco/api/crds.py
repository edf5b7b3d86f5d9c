"""CustomResourceDefinitions of our kinds: names, scope, columns, subresources, schemas (spec/node.md 1).

Rules in CEL are not among them yet: a server that cannot evaluate a rule refuses the definition.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mco.api import names
from mco.api.crdschemas.controllerconfig import CONTROLLER_CONFIG
from mco.api.crdschemas.machineconfig import MACHINE_CONFIG
from mco.api.crdschemas.machineconfignode import MACHINE_CONFIG_NODE
from mco.api.crdschemas.machineconfigpool import MACHINE_CONFIG_POOL
from mco.api.crdschemas.machineconfiguration import MACHINE_CONFIGURATION
from mco.api.schema import Schema, string

OPERATOR_MANAGED_LABEL = "openshift.io/operator-managed"


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`; `priority` 1 is shown with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """One kind. All of them are cluster-scoped and have the one version v1."""

    kind: str
    plural: str
    schema: Schema
    group: str = names.GROUP
    short_names: tuple[str, ...] = ()
    status: bool = True
    columns: tuple[Column, ...] = ()
    labels: tuple[tuple[str, str], ...] = ((OPERATOR_MANAGED_LABEL, ""),)


def _condition(column: str, condition: str = "", priority: int = 0) -> Column:
    return Column(column, f'.status.conditions[?(@.type=="{condition or column}")].status', priority=priority)


def _annotation(key: str) -> str:
    escaped = key.replace(".", r"\.")
    return f".metadata.annotations.{escaped}"


_AGE = Column("Age", ".metadata.creationTimestamp", "date")

DEFINITIONS = (
    Definition(
        kind="MachineConfig",
        plural="machineconfigs",
        short_names=("mc",),
        status=False,
        schema=MACHINE_CONFIG,
        columns=(
            Column("GeneratedByController", _annotation(names.GENERATED_BY_CONTROLLER_VERSION)),
            Column("IgnitionVersion", ".spec.config.ignition.version"),
            _AGE,
        ),
    ),
    Definition(
        kind="MachineConfigPool",
        plural="machineconfigpools",
        short_names=("mcp",),
        schema=MACHINE_CONFIG_POOL,
        columns=(
            Column("Config", ".status.configuration.name"),
            *(_condition(name) for name in ("Updated", "Updating", "Degraded")),
            Column("MachineCount", ".status.machineCount", "number"),
            Column("ReadyMachineCount", ".status.readyMachineCount", "number"),
            Column("UpdatedMachineCount", ".status.updatedMachineCount", "number"),
            Column("DegradedMachineCount", ".status.degradedMachineCount", "number"),
            _AGE,
        ),
    ),
    Definition(
        kind="ControllerConfig",
        plural="controllerconfigs",
        schema=CONTROLLER_CONFIG,
    ),
    Definition(
        kind="MachineConfigNode",
        plural="machineconfignodes",
        # The original has no short name for it; ours is additive.
        short_names=("mcn",),
        schema=MACHINE_CONFIG_NODE,
        columns=(
            Column("PoolName", ".spec.pool.name"),
            Column("DesiredConfig", ".spec.configVersion.desired"),
            Column("CurrentConfig", ".status.configVersion.current"),
            _condition("Updated"),
            _AGE,
            *(
                _condition(name, priority=1)
                for name in (
                    "UpdatePrepared",
                    "UpdateExecuted",
                    "UpdatePostActionComplete",
                    "UpdateComplete",
                    "Resumed",
                )
            ),
            _condition("UpdatedFilesAndOS", "AppliedFilesAndOS", 1),
            _condition("CordonedNode", "Cordoned", 1),
            _condition("DrainedNode", "Drained", 1),
            _condition("RebootedNode", priority=1),
            _condition("UncordonedNode", "Uncordoned", 1),
        ),
    ),
    Definition(
        kind="MachineConfiguration",
        plural="machineconfigurations",
        group=names.OPERATOR_GROUP,
        schema=MACHINE_CONFIGURATION,
        labels=(),
    ),
)


def definitions(wanted: Iterable[Definition] = DEFINITIONS) -> tuple[dict[str, Any], ...]:
    """The CustomResourceDefinition objects, ready to create."""
    return tuple(_object(definition) for definition in wanted)


def _object(definition: Definition) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": f"{definition.plural}.{definition.group}"}
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
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": definition.group,
            "names": kind_names,
            "scope": "Cluster",
            "versions": [_version(definition)],
        },
    }


def _version(definition: Definition) -> dict[str, Any]:
    schema = definition.schema
    whole = {"apiVersion": string(), "kind": string(), "metadata": {"type": "object"}, **schema["properties"]}
    version: dict[str, Any] = {
        "name": names.VERSION,
        "schema": {"openAPIV3Schema": {**schema, "properties": whole}},
        "served": True,
        "storage": True,
    }
    if definition.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in definition.columns]
    if definition.status:
        version["subresources"] = {"status": {}}
    return version


def _column(column: Column) -> dict[str, Any]:
    shown: dict[str, Any] = {"jsonPath": column.path, "name": column.name, "type": column.type}
    if column.priority:
        shown["priority"] = column.priority
    return shown
