"""The functions that Kubernetes adds to CEL, as one table.

`Overload.takes` and `gives` are types in text: `int`, `list<string>`, or a type of Kubernetes such as
`net.IP`. A member function takes its receiver first."""

from __future__ import annotations

import msgspec

from mco.apiserver.cel import authorization as rights
from mco.apiserver.cel import formatting, lists, network, numbers, text, urls, versions
from mco.apiserver.cel.values import Implementation

_ORDERED = ("int", "uint", "double", "string", "bool", "bytes", "duration", "timestamp")


class Overload(msgspec.Struct, frozen=True):
    takes: tuple[str, ...]
    gives: str
    implementation: Implementation
    member: bool = True


def _member(takes: str, gives: str, implementation: Implementation) -> Overload:
    return Overload(tuple(takes.split()), gives, implementation)


def _plain(takes: str, gives: str, implementation: Implementation) -> Overload:
    return Overload(tuple(takes.split()), gives, implementation, member=False)


def _each(kinds: tuple[str, ...], gives: str, implementation: Implementation) -> tuple[Overload, ...]:
    return tuple(_member(f"list<{kind}>", gives or kind, implementation) for kind in kinds)


_IP, _CIDR, _URL = network.IP, network.CIDR, urls.URL
_QUANTITY, _SEMVER, _FORMAT = numbers.QUANTITY, versions.SEMVER, text.FORMAT
TYPES = (_IP, _CIDR, _URL, _QUANTITY, _SEMVER)
"""Those that expressions may name."""

FUNCTIONS: dict[str, tuple[Overload, ...]] = {
    "isIP": (_plain("string", "bool", network.is_ip),),
    "ip": (_plain("string", _IP, network.ip), _member(_CIDR, _IP, network.ip)),
    "ip.isCanonical": (_plain("string", "bool", network.is_canonical),),
    "family": (_member(_IP, "int", network.family),),
    "isUnspecified": (_member(_IP, "bool", network.is_unspecified),),
    "isLoopback": (_member(_IP, "bool", network.is_loopback),),
    "isLinkLocalMulticast": (_member(_IP, "bool", network.is_link_local_multicast),),
    "isLinkLocalUnicast": (_member(_IP, "bool", network.is_link_local_unicast),),
    "isGlobalUnicast": (_member(_IP, "bool", network.is_global_unicast),),
    "isCIDR": (_plain("string", "bool", network.is_cidr),),
    "cidr": (_plain("string", _CIDR, network.cidr),),
    "containsIP": (
        _member(f"{_CIDR} string", "bool", network.contains_ip),
        _member(f"{_CIDR} {_IP}", "bool", network.contains_ip),
    ),
    "containsCIDR": (
        _member(f"{_CIDR} string", "bool", network.contains_cidr),
        _member(f"{_CIDR} {_CIDR}", "bool", network.contains_cidr),
    ),
    "masked": (_member(_CIDR, _CIDR, network.masked),),
    "prefixLength": (_member(_CIDR, "int", network.prefix_length),),
    "isURL": (_plain("string", "bool", urls.is_url),),
    "url": (_plain("string", _URL, urls.url),),
    "getScheme": (_member(_URL, "string", urls.scheme),),
    "getHost": (_member(_URL, "string", urls.host),),
    "getHostname": (_member(_URL, "string", urls.hostname),),
    "getPort": (_member(_URL, "string", urls.port),),
    "getEscapedPath": (_member(_URL, "string", urls.escaped_path),),
    "getQuery": (_member(_URL, "map<string,list<string>>", urls.query),),
    "serviceAccount": (
        _member(f"{rights.AUTHORIZER} string string", rights.AUTHORIZER, rights.service_account),
    ),
    "path": (_member(f"{rights.AUTHORIZER} string", rights.PATH, rights.path),),
    "group": (_member(f"{rights.AUTHORIZER} string", rights.GROUP, rights.group),),
    "resource": (_member(f"{rights.GROUP} string", rights.RESOURCE, rights.resource),),
    "subresource": (_member(f"{rights.RESOURCE} string", rights.RESOURCE, rights.subresource),),
    "namespace": (_member(f"{rights.RESOURCE} string", rights.RESOURCE, rights.namespace),),
    "name": (_member(f"{rights.RESOURCE} string", rights.RESOURCE, rights.name),),
    "fieldSelector": (_member(f"{rights.RESOURCE} string", rights.RESOURCE, rights.selected),),
    "labelSelector": (_member(f"{rights.RESOURCE} string", rights.RESOURCE, rights.selected),),
    "check": (
        _member(f"{rights.PATH} string", rights.DECISION, rights.check),
        _member(f"{rights.RESOURCE} string", rights.DECISION, rights.check),
    ),
    "allowed": (_member(rights.DECISION, "bool", rights.allowed),),
    "reason": (_member(rights.DECISION, "string", rights.reason),),
    "error": (_member(rights.DECISION, "string", rights.error),),
    "errored": (_member(rights.DECISION, "bool", rights.errored),),
    "isQuantity": (_plain("string", "bool", numbers.is_quantity),),
    "quantity": (_plain("string", _QUANTITY, numbers.quantity),),
    "sign": (_plain(_QUANTITY, "int", numbers.sign),),
    "isInteger": (_member(_QUANTITY, "bool", numbers.is_integer),),
    "asInteger": (_member(_QUANTITY, "int", numbers.as_integer),),
    "asApproximateFloat": (_member(_QUANTITY, "double", numbers.as_float),),
    "add": (
        _member(f"{_QUANTITY} {_QUANTITY}", _QUANTITY, numbers.add),
        _member(f"{_QUANTITY} int", _QUANTITY, numbers.add),
    ),
    "sub": (
        _member(f"{_QUANTITY} {_QUANTITY}", _QUANTITY, numbers.sub),
        _member(f"{_QUANTITY} int", _QUANTITY, numbers.sub),
    ),
    "isLessThan": (
        _member(f"{_QUANTITY} {_QUANTITY}", "bool", numbers.is_less),
        _member(f"{_SEMVER} {_SEMVER}", "bool", numbers.is_less),
    ),
    "isGreaterThan": (
        _member(f"{_QUANTITY} {_QUANTITY}", "bool", numbers.is_greater),
        _member(f"{_SEMVER} {_SEMVER}", "bool", numbers.is_greater),
    ),
    "compareTo": (
        _member(f"{_QUANTITY} {_QUANTITY}", "int", numbers.compare),
        _member(f"{_SEMVER} {_SEMVER}", "int", numbers.compare),
    ),
    "isSemver": (
        _plain("string", "bool", versions.is_semver),
        _plain("string bool", "bool", versions.is_semver),
    ),
    "semver": (
        _plain("string", _SEMVER, versions.semver),
        _plain("string bool", _SEMVER, versions.semver),
    ),
    "major": (_member(_SEMVER, "int", versions.major),),
    "minor": (_member(_SEMVER, "int", versions.minor),),
    "patch": (_member(_SEMVER, "int", versions.patch),),
    "find": (_member("string string", "string", text.find),),
    "findAll": (
        _member("string string", "list<string>", text.find_all),
        _member("string string int", "list<string>", text.find_all),
    ),
    "optional.unwrap": (_plain("list<dyn>", "list<dyn>", lists.unwrapped),),
    "unwrapOpt": (_member("list<dyn>", "list<dyn>", lists.unwrapped),),
    "lists.range": (_plain("int", "list<int>", lists.numbers),),
    "isSorted": _each(_ORDERED, "bool", lists.is_sorted),
    "sum": _each(("int", "uint", "double", "duration"), "", lists.total),
    "min": _each(_ORDERED, "", lists.smallest),
    "max": _each(_ORDERED, "", lists.largest),
    "indexOf": (
        _member("list<dyn> dyn", "int", lists.index_of),
        _member("string string", "int", lists.index_of),
        _member("string string int", "int", lists.index_of),
    ),
    "lastIndexOf": (
        _member("list<dyn> dyn", "int", lists.last_index_of),
        _member("string string", "int", lists.last_index_of),
        _member("string string int", "int", lists.last_index_of),
    ),
    "distinct": (_member("list<dyn>", "list<dyn>", lists.distinct),),
    "flatten": (
        _member("list<dyn>", "list<dyn>", lists.flatten),
        _member("list<dyn> int", "list<dyn>", lists.flatten),
    ),
    "sort": tuple(_member(f"list<{kind}>", f"list<{kind}>", lists.sort) for kind in _ORDERED),
    "slice": (_member("list<dyn> int int", "list<dyn>", lists.part),),
    "reverse": (_member("list<dyn>", "list<dyn>", lists.backwards),),
    "charAt": (_member("string int", "string", text.char_at),),
    "lowerAscii": (_member("string", "string", text.lower),),
    "upperAscii": (_member("string", "string", text.upper),),
    "replace": (
        _member("string string string", "string", text.replace),
        _member("string string string int", "string", text.replace),
    ),
    "split": (
        _member("string string", "list<string>", text.split),
        _member("string string int", "list<string>", text.split),
    ),
    "substring": (
        _member("string int", "string", text.substring),
        _member("string int int", "string", text.substring),
    ),
    "trim": (_member("string", "string", text.trim),),
    "join": (
        _member("list<string>", "string", text.join),
        _member("list<string> string", "string", text.join),
    ),
    "format": (_member("string list<dyn>", "string", formatting.formatted),),
    "strings.quote": (_plain("string", "string", formatting.quoted),),
    "validate": (_member(f"{_FORMAT} string", "list<string>", text.violations),),
    "format.named": (_plain("string", _FORMAT, text.format_by_name),),
    **{f"format.{name}": (_plain("", _FORMAT, text.named_format(name)),) for name in text.FORMATS},
}

MEMBERS = frozenset(
    name for name, overloads in FUNCTIONS.items() if any(overload.member for overload in overloads)
)
