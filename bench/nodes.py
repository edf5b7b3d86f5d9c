"""Nodes as a kubelet writes them, of about 5 KB."""

from __future__ import annotations

from typing import Any

_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
_IMAGES = 16


def name_of(number: int) -> str:
    return f"worker-{number:05}"


def node(number: int) -> dict[str, Any]:
    name = name_of(number)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {f"topology.example.com/level-{n}": f"value-{n}" for n in range(8)}
            | {"kubernetes.io/hostname": name, "node-role.kubernetes.io/worker": ""},
            "annotations": {
                f"machineconfiguration.openshift.io/a{n}": f"rendered-worker-{n:032x}" for n in range(10)
            },
        },
        "spec": {"podCIDR": f"10.{number // 250}.{number % 250}.0/24", "providerID": f"example:///{name}"},
        "status": {
            "conditions": [_condition(kind) for kind in _CONDITIONS],
            "addresses": [{"type": "InternalIP", "address": f"10.1.{number // 250}.{number % 250}"}],
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "250"},
            "nodeInfo": _info(number),
            "images": [
                {"names": [f"registry.example.com/team/image-{n}@sha256:{n:064x}"], "sizeBytes": 10**8 + n}
                for n in range(_IMAGES)
            ],
        },
    }


def _condition(kind: str) -> dict[str, str]:
    return {
        "type": kind,
        "status": "True" if kind == "Ready" else "False",
        "reason": f"Kubelet{kind}",
        "message": f"kubelet is posting {kind.lower()} status",
        "lastHeartbeatTime": "2026-11-30T12:00:00Z",
        "lastTransitionTime": "2026-11-28T12:00:00Z",
    }


def _info(number: int) -> dict[str, str]:
    return {
        "bootID": f"{number:032x}",
        "machineID": f"{number:032x}",
        "systemUUID": f"{number:032x}",
        "kernelVersion": "6.1.0-44-amd64",
        "osImage": "Debian GNU/Linux 12 (bookworm)",
        "containerRuntimeVersion": "cri-o://1.36.0",
        "kubeletVersion": "v1.36.3",
        "kubeProxyVersion": "v1.36.3",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
