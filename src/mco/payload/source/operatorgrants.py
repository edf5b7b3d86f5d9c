"""What the operator may do. In OpenShift it reads more, in namespaces that no other cluster has."""

from __future__ import annotations

from mco.api import names
from mco.api.crds import DEFINITIONS
from mco.payload.source.metadata import OPERATOR
from mco.payload.source.rules import (
    CONFIG,
    KEEP,
    LEADER,
    READ,
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
from mco.payload.source.workloads import TLS_SECRET
from mco.plan.installation import kubeconfigdata, pullsecret, registries

OPENSHIFT, MACHINE_API = "Infrastructure", "MachineAPI"
"""Capabilities: OpenShift's settings are there; machines of its machine API are."""
MACHINES = "openshift-machine-api"
_AUTHORITIES = "machine-config-server-ca"
_REPORT = "it reports its version and conditions there"

_CLUSTER = (
    Rule(resources=("nodes",), verbs=READ, because="it follows the Nodes, its predecessor's one too"),
    Rule(
        resources=("namespaces",),
        verbs=("get",),
        only=(names.NAMESPACE, names.NODE_LEASE_NAMESPACE, MACHINES),
        because="it looks whether they are there",
    ),
    Rule(
        group="apiextensions.k8s.io",
        resources=("customresourcedefinitions",),
        verbs=("get", "patch"),
        only=tuple(sorted(definition.name for definition in DEFINITIONS)),
        because="it keeps them at this version's schema",
    ),
    machine_config(
        "machineconfignodes",
        verbs=("list", "watch", "create", "patch", "delete"),
        because="one of them for each Node",
    ),
    machine_config(
        "machineconfigpools",
        "controllerconfigs",
        verbs=("get", "list", "watch", "create", "patch"),
        because="built-in pools and the ControllerConfig are its own",
    ),
    machine_config("controllerconfigs/status", verbs=("patch",), because="it marks it completed"),
    machine_config("machineconfigs", verbs=("get",), because="whether a pool is at this version"),
    machine_config(
        "machineconfigs",
        verbs=("create", "patch", "delete"),
        because="one for a pool whose image was built before the cluster",
    ),
    machine_config("machineosconfigs", verbs=("list",), because="which pools have images of their own"),
    machine_config(
        "kubeletconfigs",
        "containerruntimeconfigs",
        verbs=("list",),
        because="settings that will not be supported",
    ),
    Rule(
        group=names.OPERATOR_GROUP,
        resources=("machineconfigurations",),
        verbs=("get", "list", "watch", "create", "patch"),
        because="the one called cluster is its own",
    ),
    Rule(
        group=names.OPERATOR_GROUP,
        resources=("machineconfigurations/status",),
        verbs=("patch",),
        because="the policies that hold, and how the installation is",
    ),
    Rule(group=CONFIG, resources=("clusteroperators",), verbs=("get", "create"), because=_REPORT),
    Rule(
        group=CONFIG,
        resources=("clusteroperators/status",),
        verbs=("patch",),
        only=("machine-config",),
        because=_REPORT,
    ),
    config(
        *("infrastructures", "networks", "dnses", "proxies", "featuregates", "apiservers", "images"),
        only="cluster",
        because="what the cluster is, for the ControllerConfig, its Lease and its components",
    ),
    config("clusterversions", only="version", because="which versions the cluster has had"),
    Rule(
        group="metal3.io",
        resources=("provisionings",),
        verbs=("get",),
        only=("provisioning-configuration",),
        because="what machines of BareMetal boot from",
    ),
    constraints("nonroot-v2"),
)

_HOME = (
    *LEADER,
    events("what it does to the installation"),
    Rule(
        group="apps",
        resources=("deployments", "daemonsets"),
        verbs=KEEP,
        because="it runs the other components",
    ),
    Rule(
        group="networking.k8s.io",
        resources=("networkpolicies",),
        verbs=KEEP,
        because="what may talk to what",
    ),
    config_maps(verbs=("get", "create"), because="settings of this cluster; the config server's authority"),
    config_maps(_AUTHORITIES, verbs=("patch",), because="the config server's authority"),
    config_maps("coreos-bootimages", verbs=("patch",), because="which release's boot images may be used"),
    config_maps(kubeconfigdata.NAME, verbs=("patch",), because="authorities for new machines"),
    secrets(verbs=("create",), because="the config server's authority and certificate"),
    secrets(_AUTHORITIES, TLS_SECRET, verbs=("get", "patch"), because="the same, when they get old"),
)

GRANTS = Grants(
    component=OPERATOR,
    cluster=_CLUSTER,
    inside=(
        Inside(namespace=names.NAMESPACE, rules=_HOME),
        Inside(
            namespace=names.NAMESPACE,
            capability=OPENSHIFT,
            rules=(
                Rule(
                    resources=("serviceaccounts",),
                    verbs=("get",),
                    only=(pullsecret.ACCOUNT,),
                    because="which secrets pull from the cluster's own registry",
                ),
                secrets(because="those secrets, whose names nobody chooses"),
            ),
        ),
        Inside(
            namespace="kube-public",
            rules=(config_maps("cluster-info", because="how machines reach the API server"),),
        ),
        Inside(
            namespace="kube-system",
            capability=OPENSHIFT,
            rules=(config_maps("bootstrap", "root-ca", because="whether the cluster is complete"),),
        ),
        Inside(
            namespace=names.OPENSHIFT_CONFIG,
            capability=OPENSHIFT,
            rules=(
                config_maps(because="authorities that machines shall trust"),
                secrets("pull-secret", because="whether there is one; credentials for registries"),
            ),
        ),
        Inside(
            namespace=names.OPENSHIFT_CONFIG_MANAGED,
            capability=OPENSHIFT,
            rules=(
                config_maps(
                    verbs=("get", "create"),
                    because="settings of the cloud; authorities of the API server and of registries",
                ),
                config_maps(registries.MERGED, verbs=("patch",), because="the registries that are trusted"),
            ),
        ),
        Inside(
            namespace="openshift-kube-apiserver-operator",
            capability=OPENSHIFT,
            rules=(config_maps("kube-apiserver-to-kubelet-client-ca", because="an authority of kubelets"),),
        ),
        Inside(
            namespace=MACHINES,
            capability=MACHINE_API,
            rules=(secrets(verbs=KEEP, because="what new machines of a pool start from"),),
        ),
    ),
)
