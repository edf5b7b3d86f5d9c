"""The fields of a ControllerConfig that come from the cluster's own configuration (spec/operator.md 1.6).

OpenShift has kinds for it. Another cluster has none of them and needs none; whoever wants to say something
there writes the same documents into a ConfigMap.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mco.base.errors import InvalidInput
from mco.plan.installation import registries
from mco.plan.installation.cloudconfig import cloud_config
from mco.plan.installation.controlleroptions import ControllerOptions
from mco.plan.installation.network import discover
from mco.plan.installation.registries import Registries

Document = Mapping[str, Any]
_API = "config.openshift.io/v1"
_OS_IMAGES = ("baseOSContainerImage", "baseOSExtensionsContainerImage")
_PROXY_FIELDS = ("httpProxy", "httpsProxy", "noProxy")


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster has, as builtins; None for what it does not have. `cloud` is the data of the cloud
    provider's ConfigMap, `trust` the PEM bundles that nodes trust in addition, `client_ca` the PEM bundle
    that kubelets trust their clients by, `server_ca` the one that machines trust the config server by,
    `api_ca` the one that clients trust the API server by, `pull_secret` a reference, `os_images` the data of
    the ConfigMap that names them. `controller` is for the controllers, no field of a ControllerConfig."""

    infrastructure: Document | None = None
    network: Document | None = None
    dns: Document | None = None
    proxy: Document | None = None
    api_server: Document | None = None
    cloud: Mapping[str, str] | None = None
    trust: tuple[bytes, ...] = ()
    client_ca: bytes = b""
    server_ca: bytes = b""
    api_ca: bytes = b""
    pull_secret: Mapping[str, str] | None = None
    registries: Registries | None = None
    os_images: Mapping[str, str] | None = None
    controller: ControllerOptions = ControllerOptions()


def fields(found: Sources, version: str) -> dict[str, Any]:
    """Fields of the spec, as builtins; those of which nothing is known are left out. `version` is the
    release that the images of the operating system have to be of. Raises InvalidInput."""
    made: dict[str, Any] = {}
    if found.os_images is not None:
        made |= _os_images(found.os_images, version)
    if found.infrastructure is not None:
        made |= _infrastructure(found.infrastructure, found.cloud)
    if found.network is not None:
        made |= _network(found.network)
    if found.dns is not None:
        made["dns"] = _embedded(found.dns, "DNS")
    if found.proxy is not None:
        made["proxy"] = _proxy(found.proxy)
    if found.trust:
        made["additionalTrustBundle"] = _bytes(_joined(found.trust))
    if found.client_ca:
        made["kubeAPIServerServingCAData"] = _bytes(found.client_ca)
    if found.server_ca:
        made["rootCAData"] = _bytes(found.server_ca)
    if found.pull_secret is not None:
        made["pullSecret"] = dict(found.pull_secret)
    if found.registries is not None:
        made |= registries.fields(found.registries)
    return made


def platform_type(infrastructure: Document) -> str:
    """As older versions said it too; None, the platform, for nothing."""
    status = infrastructure.get("status") or {}
    return (status.get("platformStatus") or {}).get("type") or status.get("platform") or "None"


def topology(infrastructure: Document) -> str:
    return (infrastructure.get("status") or {}).get("controlPlaneTopology") or ""


def _infrastructure(infrastructure: Document, cloud: Mapping[str, str] | None) -> dict[str, Any]:
    platform = platform_type(infrastructure)
    named = bool(((infrastructure.get("spec") or {}).get("cloudConfig") or {}).get("name"))
    config = cloud_config(platform, named, cloud)
    embedded = _embedded(infrastructure, "Infrastructure")
    status = embedded["status"]
    if not (status.get("platformStatus") or {}).get("type"):
        said = (status.get("platformStatus") or {}) | {"type": platform}
        embedded["status"] = status | {"platformStatus": said}
    return {
        "cloudProviderCAData": config.authorities,
        "cloudProviderConfig": config.config,
        "etcdDiscoveryDomain": status.get("etcdDiscoveryDomain") or "",
        "infra": embedded,
        "platform": platform.lower(),
    }


def _os_images(data: Mapping[str, str], version: str) -> dict[str, str]:
    subject = "ConfigMap/machine-config-osimageurl"
    for key in (*_OS_IMAGES, "osImageURL", "releaseVersion"):
        if key not in data:
            raise InvalidInput(f"{key} is not set", subject=subject, path=f"$.data.{key}")
    if data["releaseVersion"] != version:
        found = f'refusing to read osImageURL version "{data["releaseVersion"]}"'
        raise InvalidInput(f'{found}, operator version "{version}"', subject=subject)
    return {key: data[key] for key in _OS_IMAGES}


def _network(network: Document) -> dict[str, Any]:
    found = discover(network)
    migration = {"mtuMigration": dict(found.mtu_migration)} if found.mtu_migration else None
    return {
        "clusterDNSIP": found.dns_ip,
        "ipFamilies": found.families,
        "network": migration,
        "networkType": found.type,
    }


def _proxy(proxy: Document) -> dict[str, Any] | None:
    status = proxy.get("status") or {}
    return {field: status[field] for field in _PROXY_FIELDS if status.get(field)} or None


def _embedded(document: Document, kind: str) -> dict[str, Any]:
    """Without what differs from day to day: it would change the hash of every rendered config."""
    name = (document.get("metadata") or {}).get("name") or "cluster"
    return {
        "apiVersion": _API,
        "kind": kind,
        "metadata": {"name": name},
        "spec": document.get("spec") or {},
        "status": document.get("status") or {},
    }


def _joined(bundles: Sequence[bytes]) -> bytes:
    """As they are, byte for byte: they become a file of every node."""
    *others, last = bundles
    return b"".join(bundle if bundle.endswith(b"\n") else bundle + b"\n" for bundle in others) + last


def _bytes(data: bytes) -> str:
    return base64.b64encode(data).decode()
