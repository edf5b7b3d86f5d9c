"""The payload for those who install with something else: a kustomize base and a Helm chart.

Neither knows an order, a gate or what a cluster has: no deletions, and nothing that only some clusters get.
An operator without the kind ClusterOperator reports on its MachineConfiguration alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mco.payload.image import NAME as IMAGE
from mco.payload.manifest import DELETE
from mco.payload.source import files
from mco.payload.source.metadata import CAPABILITY
from mco.runtime import version

KUSTOMIZATION = "Kustomization"
_CHART = "helm/mco"
_MANIFESTS = "src/mco/payload/manifests"
_IMAGE_VALUE = "{{ .Values.image }}"

Text = Callable[[Mapping[str, Any]], str]


def portable() -> files.Files:
    """The manifests that every cluster gets."""
    return {
        name: body
        for name, body in files.manifests().items()
        if not {DELETE, CAPABILITY} & set(body["metadata"]["annotations"])
    }


def kustomization() -> dict[str, Any]:
    """Of the folder of manifests, under the one name that `mco install` does not take for a manifest."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [*portable()],
    }


def texts(text: Text) -> Mapping[str, str]:
    """The files of `deploy/` by their paths in it; `text` writes an object as YAML."""
    chart = {
        "apiVersion": "v2",
        "appVersion": version.RAW,
        "description": "Manages the operating system of every node of a cluster as Kubernetes objects",
        "name": "mco",
        "type": "application",
        "version": version.RAW,
    }
    base = kustomization() | {"resources": [f"../../{_MANIFESTS}"]}
    found = {
        "kustomize/kustomization.yaml": text(base),
        f"{_CHART}/Chart.yaml": text(chart),
        f"{_CHART}/values.yaml": text({"image": IMAGE}),
    }
    for name, body in portable().items():
        if not _is_definition(name):
            found[f"{_CHART}/templates/{name}"] = text(body).replace(IMAGE, _IMAGE_VALUE)
    return found


def links() -> Mapping[str, str]:
    """What of `deploy/` is a link, and where it leads: Helm wants definitions in a folder of their own."""
    definitions = [name for name in portable() if _is_definition(name)]
    return {f"{_CHART}/crds/{name}": f"../../../../{_MANIFESTS}/{name}" for name in definitions}


def _is_definition(name: str) -> bool:
    return name.endswith(".crd.yaml")
