"""The kind ClusterOperator, and ours: the gate behind which an outgoing version's permissions are removed.

OpenShift has the kind; its own definition is left as it is (`create-only`). Elsewhere the payload brings it,
so that there is one gate everywhere.
"""

from __future__ import annotations

from typing import Any

from mco.api import names
from mco.payload.image import NAME as IMAGE
from mco.payload.manifest import CREATE_ONLY
from mco.payload.source.metadata import CAPABILITY, SELF_MANAGED, included, made
from mco.runtime import version

NAME = "machine-config"
CAPABILITY_NAME = "ClusterOperator"
_GROUP = "config.openshift.io"
_STRING = {"type": "string"}
_COLUMNS = (
    ("Version", '.status.versions[?(@.name=="operator")].version', "string"),
    ("Available", '.status.conditions[?(@.type=="Available")].status', "string"),
    ("Progressing", '.status.conditions[?(@.type=="Progressing")].status', "string"),
    ("Degraded", '.status.conditions[?(@.type=="Degraded")].status', "string"),
    ("Since", '.status.conditions[?(@.type=="Available")].lastTransitionTime', "date"),
)


def definition() -> dict[str, Any]:
    annotations = included() | {CREATE_ONLY: "true", CAPABILITY: CAPABILITY_NAME}
    body = made(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"clusteroperators.{_GROUP}",
        annotations=annotations,
    )
    body["spec"] = {
        "group": _GROUP,
        "names": {
            "kind": "ClusterOperator",
            "listKind": "ClusterOperatorList",
            "plural": "clusteroperators",
            "shortNames": ["co"],
            "singular": "clusteroperator",
        },
        "scope": "Cluster",
        "versions": [_version()],
    }
    return body


def operator() -> dict[str, Any]:
    """The versions that it has to report before the payload goes on (spec/operator.md 6.4)."""
    annotations = included(*SELF_MANAGED) | {CAPABILITY: CAPABILITY_NAME}
    body = made(f"{_GROUP}/v1", "ClusterOperator", NAME, annotations=annotations)
    body["spec"] = {}
    body["status"] = {
        "relatedObjects": _related(),
        "versions": [
            {"name": "operator", "version": version.RAW},
            {"name": "operator-image", "version": IMAGE},
        ],
    }
    return body


def _related() -> list[dict[str, str]]:
    ours = ("controllerconfigs", "machineconfignodes", "machineconfigpools", "machineconfigs")
    return [
        {"group": "", "resource": "namespaces", "name": names.NAMESPACE},
        *({"group": names.GROUP, "resource": resource, "name": ""} for resource in ours),
        {"group": names.OPERATOR_GROUP, "resource": "machineconfigurations", "name": ""},
        {"group": "", "resource": "nodes", "name": ""},
    ]


def _version() -> dict[str, Any]:
    schema = _object(
        {"apiVersion": _STRING, "kind": _STRING, "metadata": {"type": "object"}}
        | {"spec": {"type": "object"}, "status": _status()},
        required=["spec"],
    )
    return {
        "additionalPrinterColumns": [
            {"name": name, "jsonPath": path, "type": type_} for name, path, type_ in _COLUMNS
        ],
        "name": "v1",
        "schema": {"openAPIV3Schema": schema | {"description": "What a component says of itself."}},
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
    }


def _status() -> dict[str, Any]:
    condition = _object(
        dict.fromkeys(("message", "reason", "status", "type"), _STRING)
        | {"lastTransitionTime": {"type": "string", "format": "date-time"}},
        required=["lastTransitionTime", "status", "type"],
    )
    related = _object(
        dict.fromkeys(("group", "name", "namespace", "resource"), _STRING),
        required=["group", "name", "resource"],
    )
    reported = _object({"name": _STRING, "version": _STRING}, required=["name", "version"])
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return _object(
        {
            "conditions": {"type": "array", "items": condition} | keyed,
            "extension": {
                "type": "object",
                "nullable": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "relatedObjects": {"type": "array", "items": related},
            "versions": {"type": "array", "items": reported},
        }
    )


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | ({"required": required} if required else {})
