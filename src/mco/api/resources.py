"""Which resource serves which kind, and with which typed view this project reads it."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.core import (
    CertificateSigningRequest,
    ConfigMap,
    CustomResourceDefinition,
    DaemonSet,
    Event,
    Lease,
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    Secret,
    ServiceAccount,
)
from mco.api.infrastructure import Infrastructure
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.machineconfiguration import MachineConfiguration
from mco.api.machineosbuild import MachineOSBuild
from mco.api.machineosconfig import MachineOSConfig
from mco.api.meta.objects import Object
from mco.api.scheduler import Scheduler

T = TypeVar("T", bound=Object)


class Resource(msgspec.Struct, Generic[T], frozen=True):
    """`type` is what the client decodes an object of this resource into."""

    group: str
    version: str
    plural: str
    kind: str
    type: type[T]
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, name: str = "", *, namespace: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of its subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if namespace else ""
        return root + inside + "/" + "/".join(filter(None, (self.plural, name, subresource)))


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", Namespace)
NODES = Resource("", "v1", "nodes", "Node", Node)
PODS = Resource("", "v1", "pods", "Pod", Pod, True)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", ConfigMap, True)
SECRETS = Resource("", "v1", "secrets", "Secret", Secret, True)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", ServiceAccount, True)
EVENTS = Resource("", "v1", "events", "Event", Event, True)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", Lease, True)
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet", DaemonSet, True)
POD_DISRUPTION_BUDGETS = Resource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", PodDisruptionBudget, True
)
CERTIFICATE_SIGNING_REQUESTS = Resource(
    "certificates.k8s.io",
    "v1",
    "certificatesigningrequests",
    "CertificateSigningRequest",
    CertificateSigningRequest,
)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    CustomResourceDefinition,
)
MACHINE_CONFIGS = Resource(names.GROUP, names.VERSION, "machineconfigs", "MachineConfig", MachineConfig)
MACHINE_CONFIG_POOLS = Resource(
    names.GROUP, names.VERSION, "machineconfigpools", "MachineConfigPool", MachineConfigPool
)
MACHINE_CONFIG_NODES = Resource(
    names.GROUP, names.VERSION, "machineconfignodes", "MachineConfigNode", MachineConfigNode
)
MACHINE_OS_BUILDS = Resource(names.GROUP, names.VERSION, "machineosbuilds", "MachineOSBuild", MachineOSBuild)
MACHINE_OS_CONFIGS = Resource(
    names.GROUP, names.VERSION, "machineosconfigs", "MachineOSConfig", MachineOSConfig
)
CONTROLLER_CONFIGS = Resource(
    names.GROUP, names.VERSION, "controllerconfigs", "ControllerConfig", ControllerConfig
)
MACHINE_CONFIGURATIONS = Resource(
    names.OPERATOR_GROUP, names.VERSION, "machineconfigurations", "MachineConfiguration", MachineConfiguration
)
INFRASTRUCTURES = Resource("config.openshift.io", "v1", "infrastructures", "Infrastructure", Infrastructure)
SCHEDULERS = Resource("config.openshift.io", "v1", "schedulers", "Scheduler", Scheduler)
ADMISSION_POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    Object,
)
ADMISSION_POLICY_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    Object,
)
