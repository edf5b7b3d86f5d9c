"""Bodies in protocol buffers, which `kubectl create` sends: decoded by tables of the fields of a few kinds.

Answers are always JSON, which every client takes. A kind without a table here is refused with 415.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mco.apiserver.http.wire import (
    Map,
    Message,
    Repeated,
    binary,
    content,
    message,
    number,
    number_or_text,
    positive,
    text,
    texts,
    timestamp,
    truth,
    word,
)
from mco.apiserver.protowire import fields
from mco.base.errors import InvalidInput

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"

_OWNER: Message = {
    1: ("kind", text),
    3: ("name", text),
    4: ("uid", text),
    5: ("apiVersion", text),
    6: ("controller", truth),
    7: ("blockOwnerDeletion", truth),
}
_METADATA: Message = {
    1: ("name", text),
    2: ("generateName", text),
    3: ("namespace", text),
    5: ("uid", text),
    6: ("resourceVersion", text),
    7: ("generation", positive),
    8: ("creationTimestamp", timestamp),
    9: ("deletionTimestamp", timestamp),
    10: ("deletionGracePeriodSeconds", number),
    11: ("labels", Map(text)),
    12: ("annotations", Map(text)),
    13: ("ownerReferences", Repeated(message(_OWNER))),
    14: ("finalizers", Repeated(text)),
}
_REFERENCE = texts("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_REQUEST_CONDITION: Message = texts("type", "reason", "message") | {
    4: ("lastUpdateTime", timestamp),
    5: ("lastTransitionTime", timestamp),
    6: ("status", text),
}
_REQUEST_SPEC: Message = {
    1: ("request", binary),
    2: ("username", text),
    3: ("uid", text),
    4: ("groups", Repeated(text)),
    5: ("usages", Repeated(text)),
    7: ("signerName", text),
    8: ("expirationSeconds", number),
}
_DELETE_OPTIONS: Message = {
    1: ("gracePeriodSeconds", number),
    2: ("preconditions", message(texts("uid", "resourceVersion"))),
    3: ("orphanDependents", truth),
    4: ("propagationPolicy", text),
    5: ("dryRun", Repeated(text)),
}
_LEASE_SPEC: Message = {
    1: ("holderIdentity", text),
    2: ("leaseDurationSeconds", number),
    3: ("acquireTime", timestamp),
    4: ("renewTime", timestamp),
    5: ("leaseTransitions", number),
    6: ("strategy", text),
    7: ("preferredHolder", text),
}
_ROLE_RULE: Message = {
    number: (name, Repeated(word))
    for number, name in enumerate(
        ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"), start=1
    )
}
_ROLE: Message = {2: ("rules", Repeated(message(_ROLE_RULE)))}
_ROLE_BINDING: Message = {
    2: ("subjects", Repeated(message(texts("kind", "apiGroup", "name", "namespace")))),
    3: ("roleRef", message(texts("apiGroup", "kind", "name"))),
}
_ABOUT = texts("namespace", "verb", "group", "version", "resource", "subresource", "name")
_QUESTION: Message = {
    1: ("resourceAttributes", message(_ABOUT)),
    2: ("nonResourceAttributes", message(texts("path", "verb"))),
    3: ("user", text),
    4: ("groups", Repeated(word)),
}
_REQUIREMENT: Message = {1: ("key", text), 2: ("operator", text), 3: ("values", Repeated(word))}
_BUDGET_SPEC: Message = {
    1: ("minAvailable", number_or_text),
    2: (
        "selector",
        message({1: ("matchLabels", Map(text)), 2: ("matchExpressions", Repeated(message(_REQUIREMENT)))}),
    ),
    3: ("maxUnavailable", number_or_text),
    4: ("unhealthyPodEvictionPolicy", text),
}
_RBAC, _RIGHTS = "rbac.authorization.k8s.io/v1", "authorization.k8s.io/v1"

KINDS: Mapping[tuple[str, str], Message] = {
    ("v1", "ConfigMap"): {
        2: ("data", Map(text)),
        3: ("binaryData", Map(binary)),
        4: ("immutable", truth),
    },
    ("v1", "Secret"): {
        2: ("data", Map(binary)),
        3: ("type", text),
        4: ("stringData", Map(text)),
        5: ("immutable", truth),
    },
    ("v1", "Namespace"): {2: ("spec", message({1: ("finalizers", Repeated(text))}))},
    ("v1", "ServiceAccount"): {
        2: ("secrets", Repeated(message(_REFERENCE))),
        3: ("imagePullSecrets", Repeated(message(texts("name")))),
        4: ("automountServiceAccountToken", truth),
    },
    ("v1", "Event"): {
        2: ("involvedObject", message(_REFERENCE)),
        3: ("reason", text),
        4: ("message", text),
        5: ("source", message(texts("component", "host"))),
        6: ("firstTimestamp", timestamp),
        7: ("lastTimestamp", timestamp),
        8: ("count", positive),
        9: ("type", text),
        10: ("eventTime", timestamp),
        12: ("action", text),
        13: ("related", message(_REFERENCE)),
        14: ("reportingComponent", text),
        15: ("reportingInstance", text),
    },
    ("coordination.k8s.io/v1", "Lease"): {2: ("spec", message(_LEASE_SPEC))},
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): {
        2: ("spec", message(_REQUEST_SPEC)),
        3: (
            "status",
            message({1: ("conditions", Repeated(message(_REQUEST_CONDITION))), 2: ("certificate", binary)}),
        ),
    },
    (_RBAC, "Role"): _ROLE,
    (_RBAC, "ClusterRole"): _ROLE,
    (_RBAC, "RoleBinding"): _ROLE_BINDING,
    (_RBAC, "ClusterRoleBinding"): _ROLE_BINDING,
    (_RIGHTS, "SelfSubjectAccessReview"): {2: ("spec", message(_QUESTION))},
    (_RIGHTS, "SubjectAccessReview"): {2: ("spec", message(_QUESTION))},
    (_RIGHTS, "LocalSubjectAccessReview"): {2: ("spec", message(_QUESTION))},
    (_RIGHTS, "SelfSubjectRulesReview"): {2: ("spec", message(texts("namespace")))},
    ("authentication.k8s.io/v1", "SelfSubjectReview"): {},
    ("policy/v1", "PodDisruptionBudget"): {2: ("spec", message(_BUDGET_SPEC))},
    ("policy/v1", "Eviction"): {2: ("deleteOptions", message(_DELETE_OPTIONS))},
    ("v1", "DeleteOptions"): {},
}


def decode(body: bytes) -> dict[str, Any] | None:
    """The object in a body, None for a kind that is not described here.

    Raises InvalidInput for bytes that are no Kubernetes protocol buffer."""
    try:
        if not body.startswith(_MAGIC):
            raise ValueError("the prefix is missing")
        envelope = dict(fields(body[len(_MAGIC) :]))
        kind = content(envelope.get(1, b""), texts("apiVersion", "kind"))
        raw = envelope.get(2, b"")
        place = (kind.get("apiVersion", ""), kind.get("kind", ""))
        table = KINDS.get(place)
        if table is None:
            return None
        if place == ("v1", "DeleteOptions"):
            return kind | content(raw, _DELETE_OPTIONS)
        return kind | content(raw, {1: ("metadata", message(_METADATA)), **table})
    except (ValueError, IndexError, AttributeError, TypeError) as error:
        raise InvalidInput(f"the body is no Kubernetes protocol buffer: {error}") from error
