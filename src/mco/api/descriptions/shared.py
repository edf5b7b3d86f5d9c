"""Fields that several kinds have."""

from __future__ import annotations

SHARED = {
    "*.matchLabels": "Labels that all have to be there with exactly these values.",
    "*.matchExpressions": "Requirements on labels that all have to be met.",
    "*.matchExpressions.key": "Key of the label.",
    "*.matchExpressions.operator": "How the label relates to the values: In, NotIn, Exists or DoesNotExist.",
    "*.matchExpressions.values": "Values for In and NotIn; empty for the other operators.",
    "*.conditions": "What was last observed, one entry for each type.",
    "*.conditions.lastTransitionTime": "When the status last changed.",
    "*.conditions.message": "Details, for people.",
    "*.conditions.observedGeneration": "Generation of the object that this was observed of.",
    "*.conditions.reason": "Why the status is as it is: one word, for programs.",
    "*.conditions.status": "True, False or Unknown.",
    "*.conditions.type": "What the entry is about.",
    "*.observedGeneration": "Generation of the object that the status belongs to.",
    "status": "What was last observed.",
}

REFERENCE = {
    "apiVersion": "API version of the object.",
    "fieldPath": "A part of the object.",
    "kind": "Kind of the object.",
    "name": "Name of the object.",
    "namespace": "Namespace of the object.",
    "resourceVersion": "Version of the object that is meant.",
    "uid": "UID of the object.",
}


def reference(place: str) -> dict[str, str]:
    """The fields of an object reference there."""
    return {f"{place}.{name}": text for name, text in REFERENCE.items()}


RESOURCE = {
    "group": "API group of the object; empty for the core group.",
    "name": "Name of the object.",
    "namespace": "Namespace of the object.",
    "resource": "Resource of the object, as jobs.",
}


def resource(place: str) -> dict[str, str]:
    """The fields of a reference by resource there."""
    return {f"{place}.{name}": text for name, text in RESOURCE.items()}
