"""What a cluster starts from, made of an installer's files before there is one (spec/operator.md 1.16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api import names
from mco.operator import objects
from mco.operator.bootstrapsources import Found
from mco.operator.objects import Installation
from mco.operator.sources import INITIAL_AUTHORITIES
from mco.payload.source.bootstrappod import pod
from mco.plan.installation.discovered import topology
from mco.plan.installation.images import OURS, Release
from mco.runtime import version

_MANIFESTS = "bootstrap/manifests"
PULL_SECRET = f"{_MANIFESTS}/machineconfigcontroller-pull-secret"


class Bootstrap(msgspec.Struct, frozen=True, kw_only=True):
    """By their paths below the destination. `secret` are files as they are."""

    objects: Mapping[str, Mapping[str, Any]]
    secret: Mapping[str, bytes]


def bootstrap(found: Found, release: Release, release_image: str = "") -> Bootstrap:
    """Raises InvalidInput for what cannot be used of the files."""
    image = release.images.get(OURS, "")
    made = {
        f"{_MANIFESTS}/machineconfigcontroller-controllerconfig.yaml": _config(found, release, release_image)
    }
    for pool in objects.pools(topology(found.sources.infrastructure or {})):
        made[f"{_MANIFESTS}/{pool['metadata']['name']}.machineconfigpool.yaml"] = pool
    made["bootstrap/machineconfigoperator-bootstrap-pod.yaml"] = pod(image)
    made["manifests/csr-bootstrap-role-binding.yaml"] = _binding()
    made["manifests/kube-apiserver-serving-ca-configmap.yaml"] = _authorities(found.client_ca)
    return Bootstrap(objects=made, secret={PULL_SECRET: found.pull_secret})


def _config(found: Found, release: Release, release_image: str) -> dict[str, Any]:
    """What the operator makes of the same objects in the cluster, and the image of the release, which nobody
    knows there."""
    installation = Installation(
        server="",
        ca=b"",
        version=version.RAW,
        commit=version.commit(),
        base_os_image=release.base_os,
        base_os_extensions_image=release.base_os_extensions,
        image=release.images.get(OURS, ""),
        other_images=release.images,
    )
    made: dict[str, Any] = objects.controller_config(installation, found.sources)
    made["spec"]["releaseImage"] = release_image
    return made


def _authorities(client_ca: bytes) -> dict[str, Any]:
    """What the operator reads in the cluster until that has authorities of its own."""
    metadata = {"name": INITIAL_AUTHORITIES, "namespace": names.OPENSHIFT_CONFIG}
    data = {"ca-bundle.crt": client_ca.decode()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _binding() -> dict[str, Any]:
    """Lets machines ask for the certificates of their nodes with the token that all of them share."""
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "node-bootstrapper", "namespace": names.NAMESPACE}
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "system-bootstrap-node-bootstrapper"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:node-bootstrapper"},
        "subjects": [subject],
    }
