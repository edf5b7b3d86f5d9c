"""How a platform's status in a ControllerConfig may change (spec/controllerconfig.md 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.contract.crds.cases import Body
from tests.contract.crds.controllercases import KIND, platform_status
from tests.contract.crds.platformcases import tags

_LABELS, _PARENTED = tags("a"), [{**tags("a")[0], "parentID": "1"}]
_DNS = {"cloudLoadBalancerConfig": {"dnsType": "ClusterHosted"}}
_OTHER_DNS: Body = {"cloudLoadBalancerConfig": {"dnsType": "PlatformDefault"}}
_INSTALLATION = "may only be configured during installation"
_STATE = "state may not be added or removed once set"


def _manager(**more: Any) -> Body:
    return {"cloudControllerManager": more}


_TRANSITIONS: Mapping[str, tuple[str, Body, Body, str]] = {
    **{
        f"{name}, another kind of DNS": (name, _DNS, _OTHER_DNS, "dnsType is immutable")
        for name in ("aws", "azure", "gcp")
    },
    "gcp, a default that is spelt out": (
        "gcp",
        {"cloudLoadBalancerConfig": {}},
        _OTHER_DNS | {"region": "r"},
        "",
    ),
    "gcp, labels come later": ("gcp", {}, {"resourceLabels": _LABELS}, f"resourceLabels {_INSTALLATION}"),
    "gcp, labels go": ("gcp", {"resourceLabels": _LABELS}, {}, f"resourceLabels {_INSTALLATION}"),
    "gcp, labels change": (
        "gcp",
        {"resourceLabels": _LABELS},
        {"resourceLabels": tags("b")},
        f"resourceLabels are immutable and {_INSTALLATION}",
    ),
    "gcp, tags come later": ("gcp", {}, {"resourceTags": _PARENTED}, f"resourceTags {_INSTALLATION}"),
    "gcp, tags change": (
        "gcp",
        {"resourceTags": _PARENTED},
        {"resourceTags": [_PARENTED[0] | {"parentID": "2"}]},
        f"resourceTags are immutable and {_INSTALLATION}",
    ),
    "external, a state comes later": ("external", _manager(), _manager(state="External"), _STATE),
    "external, a state that says nothing comes later": ("external", _manager(), _manager(state="None"), ""),
    "external, a state goes": ("external", _manager(state="External"), _manager(), _STATE),
    "external, a state changes": (
        "external",
        _manager(state=""),
        _manager(state="None"),
        "state is immutable once set",
    ),
    "powervs, another resource group": (
        "powervs",
        {"resourceGroup": "a"},
        {"resourceGroup": "b"},
        "resourceGroup is immutable once set",
    ),
    "powervs, a resource group comes": ("powervs", {}, {"resourceGroup": "a"}, ""),
    "baremetal, other virtual addresses": (
        "baremetal",
        {"vipManagement": "Keepalived"},
        {"vipManagement": "BGP"},
        "vipManagement is immutable once set",
    ),
}
TRANSITIONS = tuple(
    KIND.update(
        f"status of {title}", platform_status(**{name: before}), platform_status(**{name: after}), error
    )
    for title, (name, before, after, error) in _TRANSITIONS.items()
)
