"""Schemas of the built-in kinds: what is kept of an object, and of which type it must be.

Parts that this project never looks into are kept as they are.
"""

from __future__ import annotations

from mco.api.schema import (
    OBJECT_REFERENCE,
    Schema,
    atomic,
    binary,
    boolean,
    free,
    int32,
    int64,
    int_or_string,
    label_selector,
    mapping,
    string,
    struct,
    timestamp,
)

SELECTOR = label_selector()
_TEXTS = mapping(string())
_BYTES = mapping(binary())
_FREE_LIST = atomic(free())


def _strings(*names: str) -> dict[str, Schema]:
    return {name: string() for name in names}


def _condition(**more: Schema) -> Schema:
    known = _strings("type", "status", "reason", "message") | {"lastTransitionTime": timestamp()}
    return struct({**known, **more}, required=("type", "status"))


def _kind(**fields: Schema) -> Schema:
    return struct(fields)


CONFIG_MAP = _kind(data=_TEXTS, binaryData=_BYTES, immutable=boolean())
SECRET = _kind(data=mapping(string()), stringData=_TEXTS, type=string(), immutable=boolean())
SERVICE_ACCOUNT = _kind(
    secrets=atomic(OBJECT_REFERENCE),
    imagePullSecrets=atomic(struct({"name": string()})),
    automountServiceAccountToken=boolean(),
)
NAMESPACE = _kind(
    spec=struct({"finalizers": atomic(string())}),
    status=struct({"phase": string(), "conditions": atomic(_condition())}),
)
_TAINT = struct({**_strings("key", "value", "effect"), "timeAdded": timestamp()}, required=("key", "effect"))
_QUANTITIES = mapping(int_or_string())
NODE = _kind(
    spec=struct(
        {
            **_strings("podCIDR", "providerID", "externalID"),
            "configSource": free(),
            "podCIDRs": atomic(string()),
            "taints": atomic(_TAINT),
            "unschedulable": boolean(),
        }
    ),
    status=struct(
        {
            "addresses": atomic(struct(_strings("type", "address"), required=("type", "address"))),
            "allocatable": _QUANTITIES,
            "capacity": _QUANTITIES,
            "conditions": atomic(_condition(lastHeartbeatTime=timestamp())),
            "config": free(),
            "daemonEndpoints": free(),
            "declaredFeatures": atomic(string()),
            "features": free(),
            "images": _FREE_LIST,
            "nodeInfo": struct(
                {
                    **_strings(
                        "architecture",
                        "bootID",
                        "containerRuntimeVersion",
                        "kernelVersion",
                        "kubeProxyVersion",
                        "kubeletVersion",
                        "machineID",
                        "operatingSystem",
                        "osImage",
                        "systemUUID",
                    ),
                    "swap": free(),
                }
            ),
            "phase": string(),
            "runtimeHandlers": _FREE_LIST,
            "volumesAttached": _FREE_LIST,
            "volumesInUse": atomic(string()),
        }
    ),
)
_CONTAINER = free(properties=_strings("name", "image"))
_CONTAINER_STATUS = free(
    properties={"name": string(), "ready": boolean(), "restartCount": int32(), "state": mapping(free())}
)
POD = _kind(
    spec=free(
        properties={
            **_strings("nodeName", "restartPolicy", "serviceAccountName", "priorityClassName"),
            "containers": atomic(_CONTAINER),
            "initContainers": atomic(_CONTAINER),
            "terminationGracePeriodSeconds": int64(),
        }
    ),
    status=free(
        properties={
            **_strings("phase", "podIP", "reason", "message"),
            "conditions": atomic(free(properties=_strings("type", "status"))),
            "containerStatuses": atomic(_CONTAINER_STATUS),
        }
    ),
)
BUDGET = _kind(
    spec=struct(
        {
            "maxUnavailable": int_or_string(),
            "minAvailable": int_or_string(),
            "selector": SELECTOR,
            "unhealthyPodEvictionPolicy": string(),
        }
    ),
    status=struct(
        {
            "conditions": atomic(_condition(observedGeneration=int64())),
            "currentHealthy": int32(),
            "desiredHealthy": int32(),
            "disruptedPods": mapping(timestamp()),
            "disruptionsAllowed": int32(),
            "expectedPods": int32(),
            "observedGeneration": int64(),
        }
    ),
)
_MICRO_TIME = timestamp()
EVENT = _kind(
    **_strings("action", "message", "reason", "reportingComponent", "reportingInstance", "type"),
    count=int32(),
    eventTime=_MICRO_TIME,
    firstTimestamp=timestamp(),
    involvedObject=OBJECT_REFERENCE,
    lastTimestamp=timestamp(),
    related=OBJECT_REFERENCE,
    series=struct({"count": int32(), "lastObservedTime": _MICRO_TIME}),
    source=struct(_strings("component", "host")),
)
LEASE = _kind(
    spec=struct(
        {
            **_strings("holderIdentity", "preferredHolder", "strategy"),
            "acquireTime": _MICRO_TIME,
            "leaseDurationSeconds": int32(),
            "leaseTransitions": int32(),
            "renewTime": _MICRO_TIME,
        }
    )
)
REQUEST = _kind(
    spec=struct(
        {
            **_strings("signerName", "uid", "username"),
            "expirationSeconds": int32(),
            "extra": mapping(atomic(string())),
            "groups": atomic(string()),
            "request": string(),
            "usages": atomic(string()),
        }
    ),
    status=struct({"certificate": string(), "conditions": atomic(_condition(lastUpdateTime=timestamp()))}),
)
_NAMES = struct(
    {
        **_strings("kind", "listKind", "plural", "singular"),
        "categories": atomic(string()),
        "shortNames": atomic(string()),
    }
)
_COLUMN = struct(
    {**_strings("description", "format", "jsonPath", "name", "type"), "priority": int32()},
)
_VERSION = struct(
    {
        **_strings("deprecationWarning", "name"),
        "additionalPrinterColumns": atomic(_COLUMN),
        "deprecated": boolean(),
        "schema": struct({"openAPIV3Schema": free()}),
        "selectableFields": atomic(struct({"jsonPath": string()})),
        "served": boolean(),
        "storage": boolean(),
        "subresources": struct({"scale": free(), "status": free()}),
    }
)
DEFINITION = _kind(
    spec=struct(
        {
            **_strings("group", "scope"),
            "conversion": free(properties={"strategy": string()}),
            "names": _NAMES,
            "preserveUnknownFields": boolean(),
            "versions": atomic(_VERSION),
        }
    ),
    status=struct(
        {
            "acceptedNames": _NAMES,
            "conditions": atomic(_condition(observedGeneration=int64())),
            "observedGeneration": int64(),
            "storedVersions": atomic(string()),
        }
    ),
)
