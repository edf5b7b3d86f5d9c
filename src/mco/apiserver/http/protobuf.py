"""Bodies in protocol buffers, which `kubectl create` sends: decoded by tables of the fields of a few kinds.

Answers are always JSON, which every client takes. A kind without a table here is refused with 415.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from mco.base.errors import InvalidInput

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Decode = Callable[[Any], Any]
"""From what the wire carries, an int or bytes, to a JSON value; None: as if the field was not there."""
Message = Mapping[int, tuple[str, Decode]]


def _text(raw: bytes) -> str | None:
    return raw.decode() or None


def _word(raw: bytes) -> str:
    """A text in a list, where an empty one counts."""
    return raw.decode()


def _number(raw: int) -> int:
    return raw - (1 << 64) if raw >> 63 else raw


def _positive(raw: int) -> int | None:
    """A number whose zero means that it was not set."""
    return _number(raw) or None


def _truth(raw: int) -> bool:
    return bool(raw)


def _binary(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _time(raw: bytes) -> str | None:
    parts = dict(_fields(raw))
    if not parts:
        return None
    moment = _EPOCH + timedelta(seconds=_number(parts.get(1, 0)), microseconds=parts.get(2, 0) // 1000)
    shown = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{shown}.{moment.microsecond:06d}Z" if moment.microsecond else f"{shown}Z"


class _Repeated:
    """A list of what `decode` makes of each occurrence."""

    def __init__(self, decode: Decode) -> None:
        self.decode = decode

    def __call__(self, raw: Any) -> Any:
        return self.decode(raw)


class _Map:
    """A map from text to what `decode` makes of the values."""

    def __init__(self, decode: Decode) -> None:
        self.decode = decode

    def __call__(self, raw: bytes) -> tuple[str, Any]:
        parts = dict(_fields(raw))
        value = self.decode(parts.get(2, b""))
        return parts.get(1, b"").decode(), "" if value is None else value


def _message(table: Message) -> Decode:
    return lambda raw: _object(raw, table)


def _object(raw: bytes, table: Message) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for number, value in _fields(raw):
        if number not in table:
            continue
        name, decode = table[number]
        decoded = decode(value)
        if isinstance(decode, _Map):
            result.setdefault(name, {})[decoded[0]] = decoded[1]
        elif isinstance(decode, _Repeated):
            result.setdefault(name, []).append(decoded)
        elif decoded is not None:
            result[name] = decoded
    return result


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values; raises ValueError or IndexError for what is no message."""
    position = 0
    while position < len(raw):
        tag, position = _varint(raw, position)
        wire = tag & 7
        if wire == _VARINT:
            value, position = _varint(raw, position)
            yield tag >> 3, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(wire)
        if wire == _LENGTH:
            size, position = _varint(raw, position)
        if size is None or position + size > len(raw):
            raise ValueError("truncated")
        yield tag >> 3, raw[position : position + size]
        position += size


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _texts(*names: str) -> dict[int, tuple[str, Decode]]:
    """Text fields numbered from 1."""
    return {number: (name, _text) for number, name in enumerate(names, start=1)}


_OWNER: Message = {
    1: ("kind", _text),
    3: ("name", _text),
    4: ("uid", _text),
    5: ("apiVersion", _text),
    6: ("controller", _truth),
    7: ("blockOwnerDeletion", _truth),
}
_METADATA: Message = {
    1: ("name", _text),
    2: ("generateName", _text),
    3: ("namespace", _text),
    5: ("uid", _text),
    6: ("resourceVersion", _text),
    7: ("generation", _positive),
    8: ("creationTimestamp", _time),
    9: ("deletionTimestamp", _time),
    10: ("deletionGracePeriodSeconds", _number),
    11: ("labels", _Map(_text)),
    12: ("annotations", _Map(_text)),
    13: ("ownerReferences", _Repeated(_message(_OWNER))),
    14: ("finalizers", _Repeated(_text)),
}
_REFERENCE = _texts("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_REQUEST_CONDITION: Message = _texts("type", "reason", "message") | {
    4: ("lastUpdateTime", _time),
    5: ("lastTransitionTime", _time),
    6: ("status", _text),
}
_REQUEST_SPEC: Message = {
    1: ("request", _binary),
    2: ("username", _text),
    3: ("uid", _text),
    4: ("groups", _Repeated(_text)),
    5: ("usages", _Repeated(_text)),
    7: ("signerName", _text),
    8: ("expirationSeconds", _number),
}
_DELETE_OPTIONS: Message = {
    1: ("gracePeriodSeconds", _number),
    2: ("preconditions", _message(_texts("uid", "resourceVersion"))),
    3: ("orphanDependents", _truth),
    4: ("propagationPolicy", _text),
    5: ("dryRun", _Repeated(_text)),
}
_LEASE_SPEC: Message = {
    1: ("holderIdentity", _text),
    2: ("leaseDurationSeconds", _number),
    3: ("acquireTime", _time),
    4: ("renewTime", _time),
    5: ("leaseTransitions", _number),
    6: ("strategy", _text),
    7: ("preferredHolder", _text),
}
_ROLE_RULE: Message = {
    number: (name, _Repeated(_word))
    for number, name in enumerate(
        ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"), start=1
    )
}
_ROLE: Message = {2: ("rules", _Repeated(_message(_ROLE_RULE)))}
_ROLE_BINDING: Message = {
    2: ("subjects", _Repeated(_message(_texts("kind", "apiGroup", "name", "namespace")))),
    3: ("roleRef", _message(_texts("apiGroup", "kind", "name"))),
}
_ABOUT = _texts("namespace", "verb", "group", "version", "resource", "subresource", "name")
_QUESTION: Message = {
    1: ("resourceAttributes", _message(_ABOUT)),
    2: ("nonResourceAttributes", _message(_texts("path", "verb"))),
    3: ("user", _text),
    4: ("groups", _Repeated(_word)),
}
_RBAC, _RIGHTS = "rbac.authorization.k8s.io/v1", "authorization.k8s.io/v1"

KINDS: Mapping[tuple[str, str], Message] = {
    ("v1", "ConfigMap"): {
        2: ("data", _Map(_text)),
        3: ("binaryData", _Map(_binary)),
        4: ("immutable", _truth),
    },
    ("v1", "Secret"): {
        2: ("data", _Map(_binary)),
        3: ("type", _text),
        4: ("stringData", _Map(_text)),
        5: ("immutable", _truth),
    },
    ("v1", "Namespace"): {2: ("spec", _message({1: ("finalizers", _Repeated(_text))}))},
    ("v1", "ServiceAccount"): {
        2: ("secrets", _Repeated(_message(_REFERENCE))),
        3: ("imagePullSecrets", _Repeated(_message(_texts("name")))),
        4: ("automountServiceAccountToken", _truth),
    },
    ("v1", "Event"): {
        2: ("involvedObject", _message(_REFERENCE)),
        3: ("reason", _text),
        4: ("message", _text),
        5: ("source", _message(_texts("component", "host"))),
        6: ("firstTimestamp", _time),
        7: ("lastTimestamp", _time),
        8: ("count", _positive),
        9: ("type", _text),
        10: ("eventTime", _time),
        12: ("action", _text),
        13: ("related", _message(_REFERENCE)),
        14: ("reportingComponent", _text),
        15: ("reportingInstance", _text),
    },
    ("coordination.k8s.io/v1", "Lease"): {2: ("spec", _message(_LEASE_SPEC))},
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): {
        2: ("spec", _message(_REQUEST_SPEC)),
        3: (
            "status",
            _message(
                {1: ("conditions", _Repeated(_message(_REQUEST_CONDITION))), 2: ("certificate", _binary)}
            ),
        ),
    },
    (_RBAC, "Role"): _ROLE,
    (_RBAC, "ClusterRole"): _ROLE,
    (_RBAC, "RoleBinding"): _ROLE_BINDING,
    (_RBAC, "ClusterRoleBinding"): _ROLE_BINDING,
    (_RIGHTS, "SelfSubjectAccessReview"): {2: ("spec", _message(_QUESTION))},
    (_RIGHTS, "SubjectAccessReview"): {2: ("spec", _message(_QUESTION))},
    (_RIGHTS, "LocalSubjectAccessReview"): {2: ("spec", _message(_QUESTION))},
    (_RIGHTS, "SelfSubjectRulesReview"): {2: ("spec", _message(_texts("namespace")))},
    ("authentication.k8s.io/v1", "SelfSubjectReview"): {},
    ("policy/v1", "Eviction"): {2: ("deleteOptions", _message(_DELETE_OPTIONS))},
    ("v1", "DeleteOptions"): {},
}


def decode(body: bytes) -> dict[str, Any] | None:
    """The object in a body, None for a kind that is not described here.

    Raises InvalidInput for bytes that are no Kubernetes protocol buffer."""
    try:
        if not body.startswith(_MAGIC):
            raise ValueError("the prefix is missing")
        envelope = dict(_fields(body[len(_MAGIC) :]))
        kind = _object(envelope.get(1, b""), _texts("apiVersion", "kind"))
        raw = envelope.get(2, b"")
        place = (kind.get("apiVersion", ""), kind.get("kind", ""))
        table = KINDS.get(place)
        if table is None:
            return None
        if place == ("v1", "DeleteOptions"):
            return kind | _object(raw, _DELETE_OPTIONS)
        return kind | _object(raw, {1: ("metadata", _message(_METADATA)), **table})
    except (ValueError, IndexError, AttributeError, TypeError) as error:
        raise InvalidInput(f"the body is no Kubernetes protocol buffer: {error}") from error
