"""The Pod of a machine that brings a cluster up: it makes the first configs and serves them to the control
plane (spec/operator.md 1.16).

Whoever installs copies the manifests and keys to that machine; its kubelet runs the Pod from a file.
"""

from __future__ import annotations

from typing import Any

from mco.payload.source.metadata import APP_LABEL, OPERATOR, SERVER, ours
from mco.payload.source.workloads import SERVER_PORT
from mco.runtime import version

MANIFESTS, SERVED = "/etc/mcc/bootstrap", "/etc/mcs/bootstrap"
_KEYS = "/etc/ssl/mcs"
_HOST_KUBECONFIG, _KUBECONFIG = "/etc/mcs/kubeconfig", "/etc/kubernetes/kubeconfig"
_FOLDER, _FILE = "Directory", "File"


def pod(image: str) -> dict[str, Any]:
    render = _container(
        "machine-config-controller",
        image,
        ["bootstrap", f"--manifest-dir={MANIFESTS}", f"--dest-dir={SERVED}"],
        {"manifests": MANIFESTS, "served": SERVED},
    )
    serve = _container(
        SERVER,
        image,
        ["configserver", "bootstrap", f"--server-basedir={SERVED}", f"--payload-version={version.RAW}"],
        {"served": SERVED, "keys": _KEYS, "kubeconfig": _KUBECONFIG},
    )
    serve["ports"] = [{"name": "https", "containerPort": SERVER_PORT, "hostPort": SERVER_PORT}]
    spec = {
        "containers": [serve],
        "hostNetwork": True,
        "initContainers": [render],
        "priorityClassName": "system-node-critical",
        "restartPolicy": "Always",
        "tolerations": [{"operator": "Exists"}],
        "volumes": [
            _volume("manifests", MANIFESTS, _FOLDER),
            _volume("served", SERVED, "DirectoryOrCreate"),
            _volume("keys", _KEYS, _FOLDER),
            _volume("kubeconfig", _HOST_KUBECONFIG, _FILE),
        ],
    }
    made = ours("v1", "Pod", f"bootstrap-{OPERATOR}", labels={APP_LABEL: OPERATOR}, annotations={})
    return made | {"spec": spec}


def _container(name: str, image: str, argv: list[str], mounts: dict[str, str]) -> dict[str, Any]:
    """Root's files of the machine, whichever way it guards them."""
    return {
        "args": argv,
        "image": image,
        "name": name,
        "securityContext": {"privileged": True, "runAsUser": 0},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": volume, "mountPath": path} for volume, path in mounts.items()],
    }


def _volume(name: str, path: str, kind: str) -> dict[str, Any]:
    return {"name": name, "hostPath": {"path": path, "type": kind}}
