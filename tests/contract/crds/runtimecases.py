"""KubeletConfig and ContainerRuntimeConfig (spec/node.md 1.5, 1.6, 12.12)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.contract.crds.cases import Body, Case, Kind, Step
from tests.contract.crds.formatcases import created

_KUBELET = Kind("KubeletConfig")
_RUNTIME = Kind("ContainerRuntimeConfig")


def _stale(kind: Kind, name: str, before: Body, after: Body, error: str = "", field: str = "") -> Case:
    """An object that was written under an older schema is updated."""
    return kind.steps(name, Step("create", before), Step("update", after, error, field), stale=True)


_LEVELS = {-1: "should be greater than or equal to 0", 11: "should be less than or equal to 10"}
_PROFILES = ("Old", "Intermediate", "Modern", "Custom")

_AT_GROUPS = "spec.tlsSecurityProfile.custom.groups"
_ALL_GROUPS = ("X25519", "secp256r1", "secp384r1", "secp521r1", "X25519MLKEM768")
_GROUPS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "all": (_ALL_GROUPS, "", ""),
    **{f"only {name}": ((name,), "", "") for name in _ALL_GROUPS},
    "none": ((), "should have at least 1 items", _AT_GROUPS),
    "one too many": ((*_ALL_GROUPS, "X25519"), "must have at most 5 items", _AT_GROUPS),
    "one twice": (("X25519", "X25519"), "Duplicate value", f"{_AT_GROUPS}[1]"),
    "another name": (("SecP256r1",), "Unsupported value", f"{_AT_GROUPS}[0]"),
    "an empty name": (("",), "Unsupported value", f"{_AT_GROUPS}[0]"),
}


def _groups(*names: str) -> Body:
    custom = {"ciphers": ["a"], "minTLSVersion": "VersionTLS12", "groups": list(names)}
    return {"tlsSecurityProfile": {"type": "Custom", "custom": custom}}


KUBELETS = (
    _KUBELET.accepted("an empty spec", {}),
    _KUBELET.refused("no spec", None, "Required value", "spec"),
    *(_KUBELET.accepted(f"log level {level}", {"logLevel": level}) for level in (0, 2, 10)),
    *(
        _KUBELET.refused(f"log level {level}", {"logLevel": level}, error, "spec.logLevel")
        for level, error in _LEVELS.items()
    ),
    _KUBELET.refused("a log level as text", {"logLevel": "2"}, "must be of type integer", "spec.logLevel"),
    *(
        _stale(
            _KUBELET,
            f"stale log level {level}, something else changes",
            {"logLevel": level},
            {"logLevel": level, "autoSizingReserved": True},
        )
        for level in _LEVELS
    ),
    _stale(
        _KUBELET,
        "stale log level, another wrong one",
        {"logLevel": 11},
        {"logLevel": 12},
        "should be less than or equal to 10",
        "spec.logLevel",
    ),
    _stale(_KUBELET, "stale log level is fixed", {"logLevel": 11}, {"logLevel": 10}),
    _stale(_KUBELET, "stale log level goes", {"logLevel": 11}, {}),
    _KUBELET.accepted(
        "any kubelet configuration",
        {"kubeletConfig": {"maxPods": 500, "a": {"b": [None]}}},
        spec__kubeletConfig__maxPods=500,
    ),
    _KUBELET.refused(
        "a kubelet configuration as text", {"kubeletConfig": "maxPods: 1"}, "must be of type object"
    ),
    *(
        _KUBELET.accepted(f"GOMAXPROCS {value}", {"systemGomaxprocsBehavior": value})
        for value in ("Autosize", "Disabled")
    ),
    *(
        _KUBELET.refused(
            f"GOMAXPROCS {value!r}",
            {"systemGomaxprocsBehavior": value},
            "Unsupported value",
            "spec.systemGomaxprocsBehavior",
        )
        for value in ("", "autosize")
    ),
    *(_KUBELET.accepted(f"TLS profile {name}", {"tlsSecurityProfile": {"type": name}}) for name in _PROFILES),
    _KUBELET.refused("an unknown TLS profile", {"tlsSecurityProfile": {"type": "New"}}, "Unsupported value"),
    _KUBELET.accepted(
        "a custom TLS profile",
        {
            "tlsSecurityProfile": {
                "type": "Custom",
                "old": None,
                "custom": {"ciphers": ["a", "a"], "minTLSVersion": "VersionTLS12"},
            }
        },
    ),
    _KUBELET.refused(
        "an unknown TLS version",
        {"tlsSecurityProfile": {"custom": {"minTLSVersion": "TLSv1.2"}}},
        "Unsupported value",
        "spec.tlsSecurityProfile.custom.minTLSVersion",
    ),
    *(
        _KUBELET.steps(f"TLS groups, {name}", Step("create", _groups(*groups), error, field))
        for name, (groups, error, field) in _GROUPS.items()
    ),
    _KUBELET.accepted(
        "TLS groups keep their order",
        _groups("secp384r1", "X25519"),
        spec__tlsSecurityProfile__custom__groups__0="secp384r1",
    ),
    _stale(_KUBELET, "stale TLS groups stay", _groups("P-256"), _groups("P-256") | {"logLevel": 1}),
    _stale(
        _KUBELET, "stale TLS groups, another one", _groups("P-256"), _groups("P-384"), "Unsupported value"
    ),
    _KUBELET.accepted(
        "members of profiles that are not meant",
        {"tlsSecurityProfile": {"type": "Old", "modern": {}, "custom": {}}},
    ),
    _KUBELET.accepted("a TLS profile without a type", {"tlsSecurityProfile": {}}),
    _KUBELET.status(
        "conditions without a type", {}, {"conditions": [{"status": "True", "lastTransitionTime": None}]}
    ),
)


def _runtime(**more: Any) -> Body:
    return {"containerRuntimeConfig": more}


_MOST_STORES = {"additionalLayerStores": 5, "additionalImageStores": 10, "additionalArtifactStores": 10}
_PATHS = {
    "absolute": ("/mnt/stores/a_b-c.d", ""),
    "longest": ("/" + "x" * 255, ""),
    "empty": ("", "should be at least 1 chars long"),
    "root only": ("/", "path must be absolute and contain only alphanumeric characters"),
    "relative": ("mnt/store", "path must be absolute and contain only alphanumeric characters"),
    "a blank": ("/mnt/my store", "path must be absolute and contain only alphanumeric characters"),
    "a colon": ("/mnt/store:ref", "path must be absolute and contain only alphanumeric characters"),
    "two slashes": ("/mnt//store", "path must not contain consecutive forward slashes"),
    "too long": ("/" + "x" * 256, "Too long: may not be more than 256 bytes"),
}


def _stores(field: str, *paths: str) -> Body:
    return _runtime(**{field: [{"path": path} for path in paths]})


_IN = "spec.containerRuntimeConfig"


def _store_paths() -> Iterator[Case]:
    for field in _MOST_STORES:
        spec = partial(_stores, field)
        yield from created(_RUNTIME, field, _PATHS, spec, f"{_IN}.{field}[0].path")


RUNTIMES = (
    _RUNTIME.refused("no configuration", {}, "Required value", _IN),
    _RUNTIME.accepted("an empty configuration", _runtime()),
    *(_RUNTIME.accepted(f"runtime {name}", _runtime(defaultRuntime=name)) for name in ("crun", "runc")),
    *(
        _RUNTIME.refused(
            f"runtime {name!r}", _runtime(defaultRuntime=name), "Unsupported value", f"{_IN}.defaultRuntime"
        )
        for name in ("", "kata", "CRUN")
    ),
    _RUNTIME.accepted(
        "no runtime, no default", _runtime(pidsLimit=1), spec__containerRuntimeConfig__defaultRuntime=None
    ),
    _stale(
        _RUNTIME,
        "stale runtime, something else changes",
        _runtime(defaultRuntime="kata"),
        _runtime(defaultRuntime="kata", pidsLimit=100),
    ),
    _stale(_RUNTIME, "stale runtime goes", _runtime(defaultRuntime="kata"), _runtime()),
    _stale(
        _RUNTIME, "stale runtime is fixed", _runtime(defaultRuntime="kata"), _runtime(defaultRuntime="runc")
    ),
    _stale(
        _RUNTIME,
        "stale runtime, another wrong one",
        _runtime(defaultRuntime="kata"),
        _runtime(defaultRuntime="youki"),
        "Unsupported value",
        f"{_IN}.defaultRuntime",
    ),
    *(
        _RUNTIME.accepted(f"log size {size!r}", _runtime(logSizeMax=size))
        for size in ("8Ki", "-1", 8192, "1.5e6", "0")
    ),
    *(
        _RUNTIME.refused(f"log size {size!r}", _runtime(logSizeMax=size), "should match", f"{_IN}.logSizeMax")
        for size in ("8 Ki", "big", "1KB", "")
    ),
    _RUNTIME.refused("a log size as a list", _runtime(overlaySize=[1]), "must be of type"),
    _RUNTIME.accepted("any log level", _runtime(logLevel="of my own")),
    *(
        _RUNTIME.refused(
            f"GOMAXPROCS {value!r}",
            _runtime(containerGomaxprocsBehavior=value),
            "Unsupported value",
            f"{_IN}.containerGomaxprocsBehavior",
        )
        for value in ("", "autosize")
    ),
    _RUNTIME.accepted("GOMAXPROCS", _runtime(containerGomaxprocsBehavior="Autosize")),
    *_store_paths(),
    *(
        case
        for field, most in _MOST_STORES.items()
        for case in (
            _RUNTIME.refused(
                f"{field}, none", _stores(field), "should have at least 1 items", f"{_IN}.{field}"
            ),
            _RUNTIME.accepted(f"{field}, {most}", _stores(field, *(f"/s{n}" for n in range(most)))),
            _RUNTIME.refused(
                f"{field}, {most + 1}",
                _stores(field, *(f"/s{n}" for n in range(most + 1))),
                f"must have at most {most} items",
                f"{_IN}.{field}",
            ),
            _RUNTIME.refused(
                f"{field}, twice", _stores(field, "/a", "/a"), f"{field} must not contain duplicate paths"
            ),
            _RUNTIME.refused(f"{field}, no path", _runtime(**{field: [{}]}), "Required value"),
        )
    ),
)
