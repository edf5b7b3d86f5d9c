"""The components as workloads: the operator, which the payload installs, and those that the operator runs
(spec/operator.md 1.15).

None of them needs more than its ServiceAccount to find the API server. The two on the host's network reach it
as machines do, by the address that the operator fills in, because a node's own agent must not need what runs
on the node.
"""

from __future__ import annotations

from typing import Any

from mco.payload.image import NAME as IMAGE
from mco.payload.source.metadata import (
    APP_LABEL,
    CONTROLLER,
    DAEMON,
    OPERATOR,
    PROGRAM,
    PROGRAM_LABEL,
    SELF_MANAGED,
    SERVER,
    VERSION_LABEL,
    included,
    ours,
)
from mco.payload.source.monitoring import PORT, PORT_NAME, SECRETS
from mco.runtime import version

IMAGES = "machine-config-operator-images"
IMAGES_FILE = "/etc/mco/images/images.json"
HOST_ROOT = "/rootfs"
TLS_SECRET, TOKEN_SECRET = "machine-config-server-tls", "node-bootstrapper-token"
SERVER_PORT = 22623
SERVER_METRICS_PORT = 22626
"""The original has none; a daemon has its own ones on the same host network."""

TLS_FOLDER = "/etc/tls/private"
_METRICS_TLS = "metrics-tls"
_METRICS = (
    "--metrics-listen=127.0.0.1:8797",
    f"--metrics-secure-listen=:{PORT}",
    f"--metrics-tls={TLS_FOLDER}",
)

_APPS = "apps/v1"
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
# More than the time in which a leader finishes what it does and releases its lease.
_GRACE_SECONDS = 60
# What is being applied to a node is finished, or undone by the next daemon.
_DAEMON_GRACE_SECONDS = 600
_UNPRIVILEGED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "runAsUser": 65534,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def operator() -> dict[str, Any]:
    """One at a time: the next one is not started before this one has released its lease (spec 0.2)."""
    argv = ["operator", f"--images-json={IMAGES_FILE}"]
    container = _container(OPERATOR, argv, cpu="20m", memory="50Mi") | _mounted({"images": "/etc/mco/images"})
    volumes = [{"name": "images", "configMap": {"name": IMAGES}}]
    return _deployment(OPERATOR, container, volumes, included(*SELF_MANAGED))


def controller() -> dict[str, Any]:
    argv = ["controller", *_METRICS]
    container = _container(CONTROLLER, argv, cpu="20m", memory="50Mi")
    container |= {"ports": [{"name": PORT_NAME, "containerPort": PORT}]} | _mounted(
        {_METRICS_TLS: TLS_FOLDER}
    )
    return _deployment(CONTROLLER, container, [_certificate(CONTROLLER)], included())


def daemon() -> dict[str, Any]:
    """Everywhere, with the whole machine in its hands."""
    argv = ["daemon", "start", "--in-cluster", f"--root={HOST_ROOT}", *_METRICS]
    container = _container(DAEMON, argv, cpu="20m", memory="50Mi") | {
        "ports": [{"name": PORT_NAME, "containerPort": PORT, "hostPort": PORT}],
        "securityContext": {"privileged": True, "runAsUser": 0},
        "volumeMounts": [
            {"name": "rootfs", "mountPath": HOST_ROOT, "mountPropagation": "HostToContainer"},
            *_mounted({_METRICS_TLS: TLS_FOLDER})["volumeMounts"],
        ],
    }
    root = {"name": "rootfs", "hostPath": {"path": "/", "type": "Directory"}}
    pod = _pod(DAEMON, container, [root, _certificate(DAEMON)])
    pod |= {
        "hostNetwork": True,
        "hostPID": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "priorityClassName": "system-node-critical",
        "terminationGracePeriodSeconds": _DAEMON_GRACE_SECONDS,
        "tolerations": [{"operator": "Exists"}],
    }
    return _daemon_set(DAEMON, pod, "privileged")


def server() -> dict[str, Any]:
    """On control-plane nodes, whose address new machines know."""
    metrics = f"--metrics-listen=127.0.0.1:{SERVER_METRICS_PORT}"
    argv = ["configserver", "start", f"--payload-version={version.RAW}", metrics]
    container = _container(SERVER, argv, cpu="20m", memory="50Mi")
    container |= {"ports": [{"name": "https", "containerPort": SERVER_PORT, "hostPort": SERVER_PORT}]}
    container |= _mounted({"tls": "/etc/ssl/mcs", "token": "/etc/mcs/bootstrap-token"})
    volumes = [
        {"name": "tls", "secret": {"secretName": TLS_SECRET}},
        # Machines with join tokens of their own do not need it.
        {"name": "token", "secret": {"secretName": TOKEN_SECRET, "optional": True}},
    ]
    pod = _pod(SERVER, container, volumes)
    pod |= {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": _on_control_plane()}
            }
        },
        "hostNetwork": True,
        "tolerations": [*_control_plane_taints(), _tolerated("node-role.kubernetes.io/etcd")],
    }
    return _daemon_set(SERVER, pod, "hostnetwork-v2")


def images() -> dict[str, Any]:
    """What the operator runs the other components with."""
    text = f'{{"releaseVersion": "{version.RAW}", "machineConfigOperator": "{IMAGE}"}}'
    return ours("v1", "ConfigMap", IMAGES) | {"data": {"images.json": text}}


def service() -> dict[str, Any]:
    spec = {
        "ports": [{"name": "https", "port": SERVER_PORT, "protocol": "TCP", "targetPort": SERVER_PORT}],
        "selector": {APP_LABEL: SERVER},
    }
    return ours("v1", "Service", SERVER, labels={APP_LABEL: SERVER}) | {"spec": spec}


def _deployment(
    name: str, container: dict[str, Any], volumes: list[Any], annotations: dict[str, str]
) -> dict[str, Any]:
    pod = _pod(name, container, volumes) | {
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"preference": term, "weight": 100} for term in _on_control_plane()
                ]
            }
        },
        "tolerations": [
            *_control_plane_taints(),
            _tolerated("node.kubernetes.io/unreachable", "NoExecute", seconds=120),
            _tolerated("node.kubernetes.io/not-ready", "NoExecute", seconds=120),
        ],
    }
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {APP_LABEL: name}},
        "strategy": {"type": "Recreate"},
        "template": _template(name, pod, "nonroot-v2"),
    }
    return ours(_APPS, "Deployment", name, labels=_labels(name), annotations=annotations) | {"spec": spec}


def _daemon_set(name: str, pod: dict[str, Any], constraints: str) -> dict[str, Any]:
    spec = {
        "selector": {"matchLabels": {APP_LABEL: name}},
        "template": _template(name, pod, constraints),
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
    }
    return ours(_APPS, "DaemonSet", name, labels=_labels(name)) | {"spec": spec}


def _labels(name: str) -> dict[str, str]:
    """A workload of the original's has the same name, but not these."""
    return {APP_LABEL: name, PROGRAM_LABEL: PROGRAM, VERSION_LABEL: version.RAW}


def _template(name: str, pod: dict[str, Any], constraints: str) -> dict[str, Any]:
    annotations = {
        "openshift.io/required-scc": constraints,
        "target.workload.openshift.io/management": '{"effect": "PreferredDuringScheduling"}',
    }
    return {"metadata": {"annotations": annotations, "labels": {APP_LABEL: name}}, "spec": pod}


def _pod(name: str, container: dict[str, Any], volumes: list[Any]) -> dict[str, Any]:
    pod = {
        "containers": [container],
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": name,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
    }
    return pod | ({"volumes": volumes} if volumes else {})


def _container(name: str, argv: list[str], *, cpu: str, memory: str) -> dict[str, Any]:
    """With what `kube.leader.identity` reads, and a termination log that is this process's alone."""
    return {
        "args": argv,
        "env": [
            *(_field(variable, path) for variable, path in _FIELDS),
            {"name": "CONTAINER_NAME", "value": name},
        ],
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "name": name,
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
        "securityContext": _UNPRIVILEGED,
        "terminationMessagePolicy": "File",
    }


_FIELDS = (
    ("POD_NAME", "metadata.name"),
    ("POD_NAMESPACE", "metadata.namespace"),
    ("POD_UID", "metadata.uid"),
    ("NODE_NAME", "spec.nodeName"),
)


def _field(variable: str, path: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _mounted(folders: dict[str, str]) -> dict[str, Any]:
    mounts = [{"name": name, "mountPath": path, "readOnly": True} for name, path in folders.items()]
    return {"volumeMounts": mounts}


def _certificate(name: str) -> dict[str, Any]:
    """For its metrics; where nobody makes one, the component does."""
    return {"name": _METRICS_TLS, "secret": {"secretName": SECRETS[name], "optional": True}}


def _on_control_plane() -> list[dict[str, Any]]:
    return [{"matchExpressions": [{"key": label, "operator": "Exists"}]} for label in _CONTROL_PLANE]


def _control_plane_taints() -> list[dict[str, Any]]:
    return [_tolerated(label) for label in _CONTROL_PLANE]


def _tolerated(key: str, effect: str = "NoSchedule", *, seconds: int | None = None) -> dict[str, Any]:
    toleration: dict[str, Any] = {"key": key, "operator": "Exists", "effect": effect}
    return toleration | ({} if seconds is None else {"tolerationSeconds": seconds})
