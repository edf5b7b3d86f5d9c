"""What the components that the operator runs may do."""

from __future__ import annotations

from mco.api import bootstraptokens, names
from mco.payload.source.metadata import CONTROLLER, DAEMON, SERVER
from mco.payload.source.rules import (
    CONFIG,
    FOLLOW,
    LEADER,
    READ,
    REVIEWS,
    Grants,
    Inside,
    Rule,
    config,
    config_maps,
    constraints,
    events,
    machine_config,
    secrets,
)

_MARKS = (names.SERVED_MAP, names.IN_USE_MAP)

_CONTROLLER = Grants(
    component=CONTROLLER,
    cluster=(
        Rule(
            resources=("nodes",),
            verbs=(*READ, "patch"),
            because="a Node's desired config, taint, cordon and labels",
        ),
        config("infrastructures", only="cluster", because="the topology decides how long its Lease lasts"),
        machine_config(
            "machineconfigs",
            verbs=("get", "list", "watch", "create", "patch", "delete"),
            because="it renders pools, marks what it rendered, and removes what nobody needs",
        ),
        machine_config(
            "machineconfigpools",
            verbs=("get", "list", "watch", "patch"),
            because="a pool names its rendered config",
        ),
        machine_config("machineconfigpools/status", verbs=("patch",), because="how far a rollout is"),
        machine_config(
            "machineconfignodes",
            verbs=("get", "list", "watch", "patch"),
            because="where a node is going",
        ),
        machine_config("machineconfignodes/status", verbs=("patch",), because="drains, and why a node waits"),
        machine_config("controllerconfigs", verbs=FOLLOW, because="every rendered config has its parts"),
        machine_config("machineosbuilds", verbs=("list",), because="what a build uses is not removed"),
        Rule(
            group=names.OPERATOR_GROUP,
            resources=("machineconfigurations",),
            verbs=FOLLOW,
            because="whether the operator holds the fleet",
        ),
        Rule(
            group=CONFIG,
            resources=("schedulers",),
            verbs=FOLLOW,
            because="whether masters take work, where that kind exists",
        ),
        Rule(resources=("pods",), verbs=("list",), because="which Pods a drain has to evict"),
        Rule(resources=("pods/eviction",), verbs=("create",), because="a drain evicts"),
        Rule(
            group="policy",
            resources=("poddisruptionbudgets",),
            verbs=("list",),
            because="which budget stops a drain",
        ),
        Rule(group="apps", resources=("daemonsets",), verbs=("get",), because="their Pods stay"),
        constraints("nonroot-v2"),
        *REVIEWS,
    ),
    inside=(
        Inside(
            namespace=names.NAMESPACE,
            rules=(
                *LEADER,
                events("what happens to pools and nodes"),
                config_maps(verbs=(*READ, "create"), because="which configs are served, and which in use"),
                config_maps(*_MARKS, verbs=("patch",), because="the same, as it changes"),
                secrets(verbs=("get", "list", "delete"), because="copies of lost configs that nodes give"),
            ),
        ),
    ),
)

_DAEMON = Grants(
    component=DAEMON,
    cluster=(
        Rule(
            resources=("nodes",),
            verbs=("list", "watch", "patch"),
            because="it follows its Node and reports there what it does",
        ),
        machine_config("machineconfigs", verbs=("get",), because="the config that its node shall have"),
        machine_config("machineconfignodes", verbs=READ, because="the report of its node"),
        machine_config(
            "machineconfignodes/status", verbs=("patch",), because="the report of its node, and of no other"
        ),
        Rule(
            group=names.OPERATOR_GROUP,
            resources=("machineconfigurations",),
            verbs=("get",),
            because="which changes disrupt",
        ),
        constraints("privileged"),
        *REVIEWS,
    ),
    inside=(
        Inside(
            namespace=names.NAMESPACE,
            rules=(
                events("what it does to its node"),
                secrets(verbs=("create",), because="its copy of a lost config, when it is asked for it"),
            ),
        ),
    ),
)

_SERVER = Grants(
    component=SERVER,
    cluster=(
        machine_config("machineconfigs", verbs=READ, because="what it serves"),
        machine_config(
            "machineconfigpools",
            "controllerconfigs",
            verbs=FOLLOW,
            because="which config is whose, and what goes with it",
        ),
        constraints("hostnetwork-v2"),
    ),
    inside=(
        Inside(
            namespace=names.NAMESPACE,
            rules=(
                events("who joined with which token"),
                config_maps(
                    verbs=(*FOLLOW, "create"), because="authorities for new machines; when it served what"
                ),
                config_maps(names.SERVED_MAP, verbs=("patch",), because="when it served which config"),
            ),
        ),
        Inside(
            namespace=bootstraptokens.NAMESPACE,
            rules=(secrets(verbs=READ, because="join tokens are Secrets there"),),
        ),
    ),
)

GRANTS = (_CONTROLLER, _DAEMON, _SERVER)
