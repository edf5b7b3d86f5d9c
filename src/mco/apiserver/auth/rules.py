"""Who may do what, as a table of rules; everything that no rule allows is refused."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import msgspec

from mco.api import names
from mco.api.bootstraptokens import NAMESPACE as TOKEN_NAMESPACE
from mco.apiserver.auth.user import AUTHENTICATED, MASTERS, UNAUTHENTICATED, User
from mco.pki.requests import NODE_USER_PREFIX, NODES_GROUP

COMPONENT_PREFIX = "system:mco:"
BOOTSTRAPPERS = "system:bootstrappers"
NODE_LEASES = "kube-node-lease"
ANY = "*"

_GROUP = names.GROUP
_CONFIG = "config.openshift.io"
_REQUESTS = "certificatesigningrequests.certificates.k8s.io"
_LEASES = "leases.coordination.k8s.io"
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_OWN_RIGHTS = frozenset(
    {
        "selfsubjectreviews.authentication.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
    }
)
_READ = "get list watch"
_WRITE = "get list watch create update patch delete deletecollection"


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. `resource` is `plural.group/subresource`, without what is empty; `selected` is the
    one name that a list or watch is restricted to."""

    verb: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    selected: str = ""
    path: str = ""


class Rule(msgspec.Struct, frozen=True):
    """Verbs and resources are words separated by blanks; `*.group` are all of a group, with subresources.

    `names` restrict to objects with these names, in a list or watch to those selected by name; `namespace`
    to one namespace."""

    verbs: str
    resources: str
    names: tuple[str, ...] = ()
    namespace: str = ""

    def allows(self, asked: Attributes) -> bool:
        if ANY not in self.verbs and asked.verb not in self.verbs.split():
            return False
        if self.namespace and asked.namespace != self.namespace:
            return False
        if not any(_covers(resource, asked.resource) for resource in self.resources.split()):
            return False
        if not self.names or asked.verb == "create":
            # Nothing in a creation's URL has the name; what is created is judged by `restriction`.
            return True
        return (asked.name or asked.selected) in self.names


PUBLIC_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})
DISCOVERY_PATHS = ("/api", "/apis", "/openapi")

COMMON = (
    Rule("create patch update", "events"),
    Rule(_WRITE, _LEASES, namespace=names.NAMESPACE),
)
"""What every component of ours needs: events, and a lease to lead with."""

COMPONENTS: dict[str, tuple[Rule, ...]] = {
    "operator": (
        *COMMON,
        Rule(_WRITE, f"*.{_GROUP} *.{names.OPERATOR_GROUP} {_DEFINITIONS} namespaces serviceaccounts"),
        Rule(_WRITE, "configmaps secrets", namespace=names.NAMESPACE),
        Rule(f"{_READ} patch", "nodes"),
        Rule(_READ, f"*.{_CONFIG}"),
        Rule("create patch", f"clusteroperators.{_CONFIG} clusteroperators.{_CONFIG}/status"),
    ),
    "controller": (
        *COMMON,
        Rule(_WRITE, f"*.{_GROUP}"),
        Rule(_READ, f"*.{names.OPERATOR_GROUP} namespaces poddisruptionbudgets.policy"),
        Rule(f"{_READ} patch update delete", "nodes nodes/status"),
        Rule(f"{_READ} delete", "pods"),
        Rule("create", "pods/eviction"),
        Rule(_READ, f"daemonsets.apps schedulers.{_CONFIG}"),
        Rule(f"{_READ} patch update delete", f"{_REQUESTS} {_REQUESTS}/approval {_REQUESTS}/status"),
        Rule(_READ, _LEASES, namespace=NODE_LEASES),
        Rule(_READ, "configmaps secrets", namespace=names.NAMESPACE),
        Rule("create patch", "configmaps", namespace=names.NAMESPACE),
        Rule("delete", "secrets", namespace=names.NAMESPACE),
        Rule(f"{_READ} delete", "secrets", namespace=TOKEN_NAMESPACE),
    ),
    "configserver": (
        *COMMON,
        Rule(_READ, f"*.{_GROUP} *.{names.OPERATOR_GROUP}"),
        Rule(_READ, "secrets", namespace=TOKEN_NAMESPACE),
        Rule(_READ, "configmaps secrets", namespace=names.NAMESPACE),
        Rule("create patch", "configmaps", (names.SERVED_MAP,), names.NAMESPACE),
        Rule("get", "configmaps", namespace="kube-public"),
    ),
}
"""By the last part of `system:mco:<component>`."""

NEWCOMERS = (Rule("create get", _REQUESTS), Rule("list watch", _REQUESTS))
"""Who came with a bootstrap token: asks for a certificate and waits for it. Lists and watches are of one
request, selected by name (`allowed` sees to that)."""


@functools.lru_cache(maxsize=16_384)
def node_rules(node: str) -> tuple[Rule, ...]:
    """What the node of that name may do, and nothing else (design.md 10, identity)."""
    itself = (node,)
    return (
        Rule("create get list watch patch update", "nodes", itself),
        Rule("patch update", "nodes/status", itself),
        Rule("create get list watch patch update delete", _LEASES, itself, NODE_LEASES),
        Rule("get list watch patch update", f"machineconfignodes.{_GROUP}", itself),
        Rule("patch update", f"machineconfignodes.{_GROUP}/status", itself),
        Rule("create patch update", "events"),
        Rule("create", "secrets", namespace=names.NAMESPACE),
        *NEWCOMERS,
        Rule(_READ, f"machineconfigs.{_GROUP} machineconfigpools.{_GROUP} controllerconfigs.{_GROUP}"),
        Rule(_READ, f"machineconfigurations.{names.OPERATOR_GROUP}"),
    )


def allowed(user: User, asked: Attributes) -> bool:
    """The decision, from nothing but its arguments."""
    if MASTERS in user.groups:
        return True
    if not asked.resource:
        return _path_allowed(user, asked)
    if asked.verb == "create" and asked.resource in _OWN_RIGHTS and AUTHENTICATED in user.groups:
        return True
    if asked.resource == _REQUESTS and asked.verb in ("list", "watch") and not asked.selected:
        restricted = user.token_id or NODES_GROUP in user.groups
        if restricted:
            return False
    return any(rule.allows(asked) for rule in rules_of(user))


def rules_of(user: User) -> Iterable[Rule]:
    node = node_of(user)
    if node:
        return node_rules(node)
    if user.name.startswith(COMPONENT_PREFIX):
        return COMPONENTS.get(user.name.removeprefix(COMPONENT_PREFIX), ())
    return NEWCOMERS if BOOTSTRAPPERS in user.groups else ()


def node_of(user: User) -> str:
    """The node that a user is, or the empty text: the name alone is not enough, nor is the group."""
    if NODES_GROUP not in user.groups or not user.name.startswith(NODE_USER_PREFIX):
        return ""
    return user.name.removeprefix(NODE_USER_PREFIX)


def _path_allowed(user: User, asked: Attributes) -> bool:
    path = asked.path.rstrip("/")
    if asked.verb != "get":
        return False
    if path in PUBLIC_PATHS and not user.groups.isdisjoint({AUTHENTICATED, UNAUTHENTICATED}):
        return True
    return AUTHENTICATED in user.groups and any(
        path == p or path.startswith(f"{p}/") for p in DISCOVERY_PATHS
    )


def _covers(pattern: str, resource: str) -> bool:
    if pattern.startswith("*."):
        # `*.group` also covers `plural.group/status`, never the core group.
        return resource.partition("/")[0].endswith(pattern[1:])
    return pattern == resource
