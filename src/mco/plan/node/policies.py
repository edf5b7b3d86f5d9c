"""Node disruption policies: the built-in ones and how the user's come over them (spec/node.md 6.2, 6.3)."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

from mco.api.machineconfiguration import (
    Action,
    DisruptionPolicies,
    FilePolicy,
    MachineConfiguration,
    ServiceReference,
    SSHKeyPolicy,
    UnitPolicy,
)

NONE, REBOOT, DRAIN = "None", "Reboot", "Drain"
RELOAD, RESTART, DAEMON_RELOAD, SPECIAL = "Reload", "Restart", "DaemonReload", "Special"

REGISTRIES_CONF = "/etc/containers/registries.conf"
USER_CA_ANCHOR = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
TRUST_SERVICE = "coreos-update-ca-trust.service"

P = TypeVar("P", FilePolicy, UnitPolicy)


def reload(service: str) -> Action:
    return Action(type=RELOAD, reload=ServiceReference(service_name=service))


def restart(service: str) -> Action:
    return Action(type=RESTART, restart=ServiceReference(service_name=service))


_NONE = (Action(type=NONE),)
_CRIO = (reload("crio.service"),)
_REGISTRY = (restart("iri-registry.service"),)

DEFAULT = DisruptionPolicies(
    files=(
        FilePolicy(path="/var/lib/kubelet/config.json", actions=_NONE),
        FilePolicy(path="/etc/machine-config-daemon/no-reboot/containers-gpg.pub", actions=_CRIO),
        FilePolicy(path="/etc/containers/policy.json", actions=_CRIO),
        FilePolicy(path=REGISTRIES_CONF, actions=(Action(type=SPECIAL),)),
        FilePolicy(path="/etc/containers/registries.d", actions=_CRIO),
        FilePolicy(path="/etc/crio/policies", actions=_CRIO),
        FilePolicy(path="/etc/nmstate/openshift", actions=_NONE),
        FilePolicy(path=USER_CA_ANCHOR, actions=(restart(TRUST_SERVICE), restart("crio.service"))),
        FilePolicy(path="/etc/kubernetes/credential-providers", actions=(restart("kubelet.service"),)),
        FilePolicy(
            path="/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
            actions=(Action(type=DAEMON_RELOAD), restart("kubelet.service")),
        ),
        FilePolicy(path="/etc/iri-registry", actions=_REGISTRY),
        FilePolicy(path="/usr/local/bin/load-registry-image.sh", actions=_REGISTRY),
        FilePolicy(
            path="/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", actions=(restart(TRUST_SERVICE),)
        ),
    ),
    units=(UnitPolicy(name="iri-registry.service", actions=(Action(type=DAEMON_RELOAD), *_REGISTRY)),),
    sshkey=SSHKeyPolicy(actions=_NONE),
)


def merged(user: DisruptionPolicies, base: DisruptionPolicies = DEFAULT) -> DisruptionPolicies:
    """The policies of a cluster: a user's entry takes the place of the default of the same path or name,
    others follow in the user's order; SSH key actions count when there is at least one."""
    return DisruptionPolicies(
        files=_over(base.files, user.files, lambda policy: policy.path),
        units=_over(base.units, user.units, lambda policy: policy.name),
        sshkey=user.sshkey if user.sshkey.actions else base.sshkey,
    )


def known(configuration: MachineConfiguration) -> DisruptionPolicies:
    """The policies that an object stands for, wherever it comes from: those of its status, which a daemon
    follows, when they are of its present generation and hold what its spec says; else what the operator
    would make of its spec."""
    user, status = configuration.spec.node_disruption_policy, configuration.status
    found = status.node_disruption_policy_status.cluster_policies
    present = status.observed_generation == configuration.metadata.generation
    if present and found != DisruptionPolicies() and merged(user, found) == found:
        return found
    return merged(user)


def _over(default: Iterable[P], user: Iterable[P], key: Callable[[P], str]) -> tuple[P, ...]:
    entries = {key(policy): policy for policy in default}
    entries.update({key(policy): policy for policy in user})
    return tuple(entries.values())


def for_file(policies: DisruptionPolicies, path: str) -> FilePolicy | None:
    """The policy with the longest path that is the file's or a folder above it; the first of equal ones.

    A policy names one file exactly as it is written, but a folder also with a slash at its end or with dots
    in it; the length is that of the path as written. A policy for `/` never matches (spec/daemon.md 6.6)."""
    clean = _clean(path)
    best: FilePolicy | None = None
    for policy in policies.files:
        matches = path == policy.path or clean.startswith(f"{_clean(policy.path)}/")
        if matches and _length(policy) > (_length(best) if best else 0):
            best = policy
    return best


def for_unit(policies: DisruptionPolicies, name: str) -> UnitPolicy | None:
    return next((policy for policy in policies.units if policy.name == name), None)


@lru_cache(maxsize=1024)
def _clean(path: str) -> str:
    """Without redundant parts; unlike the standard library's, two slashes at the start are redundant."""
    return posixpath.normpath(f"/{path.lstrip('/')}" if path.startswith("/") else path)


def _length(policy: FilePolicy) -> int:
    return len(policy.path.encode())
