"""Permissions as rules with their reasons, and those that several components share."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names

CONFIG = "config.openshift.io"
READ = ("get", "list", "watch")
FOLLOW = ("list", "watch")
KEEP = ("get", "create", "patch")


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """`because` is what the component does with it; `only` are the names of the objects."""

    group: str = ""
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    because: str
    only: tuple[str, ...] = ()

    def body(self) -> dict[str, Any]:
        rule = {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}
        return rule | ({"resourceNames": list(self.only)} if self.only else {})


class Inside(msgspec.Struct, frozen=True, kw_only=True):
    """What may be done in one namespace; with `capability`, only in clusters that have that."""

    namespace: str
    rules: tuple[Rule, ...]
    capability: str = ""


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """What a component may do in the whole cluster, and by namespace."""

    component: str
    cluster: tuple[Rule, ...]
    inside: tuple[Inside, ...]


def machine_config(*resources: str, verbs: tuple[str, ...], because: str) -> Rule:
    return Rule(group=names.GROUP, resources=resources, verbs=verbs, because=because)


def config_maps(*only: str, verbs: tuple[str, ...] = ("get",), because: str) -> Rule:
    return Rule(resources=("configmaps",), verbs=verbs, only=only, because=because)


def secrets(*only: str, verbs: tuple[str, ...] = ("get",), because: str) -> Rule:
    return Rule(resources=("secrets",), verbs=verbs, only=only, because=because)


def config(*resources: str, only: str, because: str) -> Rule:
    """OpenShift's settings of a cluster."""
    return Rule(group=CONFIG, resources=resources, verbs=("get",), only=(only,), because=because)


def events(because: str) -> Rule:
    return Rule(resources=("events",), verbs=("create", "patch"), because=because)


def constraints(name: str) -> Rule:
    """Only OpenShift has the kind; elsewhere the rule is never used."""
    return Rule(
        group="security.openshift.io",
        resources=("securitycontextconstraints",),
        verbs=("use",),
        only=(name,),
        because="OpenShift admits its Pod with these constraints",
    )


LEADER = (
    Rule(
        group="coordination.k8s.io",
        resources=("leases",),
        verbs=("get", "list", "watch", "create", "patch"),
        because="it holds its Lease, or watches who does",
    ),
    Rule(resources=("pods",), verbs=FOLLOW, because="the end of its predecessor's container is a proof"),
)

REVIEWS = (
    Rule(
        group="authentication.k8s.io",
        resources=("tokenreviews",),
        verbs=("create",),
        because="it asks who wants to read its metrics",
    ),
    Rule(
        group="authorization.k8s.io",
        resources=("subjectaccessreviews",),
        verbs=("create",),
        because="it asks whether he may",
    ),
)
