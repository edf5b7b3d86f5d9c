"""How machines reach the API server: what the config server tells them, and what the node's agents use."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mco.api.resources import CONFIG_MAPS, INFRASTRUCTURES
from mco.base.errors import InvalidInput, NotFound
from mco.kube import config as kubeconfigs
from mco.kube.client import Client
from mco.kube.config import Cluster

_INFRASTRUCTURE = "cluster"
_CLUSTER_INFO = "cluster-info"
_PUBLIC = "kube-public"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`server` is a URL, `authorities` a PEM bundle."""

    server: str
    authorities: bytes


async def discover(client: Client, own: Cluster) -> Endpoint:
    """As OpenShift's Infrastructure says, else as kubeadm published it for new nodes, else as we reach it
    ourselves, which is right where everybody uses one address. Raises InvalidInput for a broken
    cluster-info, and what the client raises."""
    internal = await _internal(client)
    if internal:
        return Endpoint(server=internal, authorities=own.ca.read())
    return await _published(client) or Endpoint(server=own.server, authorities=own.ca.read())


async def _internal(client: Client) -> str:
    try:
        found = await client.get(INFRASTRUCTURES, _INFRASTRUCTURE)
    except NotFound:
        return ""
    return found.status.api_server_internal_uri


async def _published(client: Client) -> Endpoint | None:
    try:
        found = await client.get(CONFIG_MAPS, _CLUSTER_INFO, namespace=_PUBLIC)
    except NotFound:
        return None
    text = (found.data or {}).get("kubeconfig")
    if text is None:
        return None
    where = f"ConfigMap/{_PUBLIC}/{_CLUSTER_INFO}"
    server, authorities = kubeconfigs.only_cluster(kubeconfigs.parse(text.encode(), Path(where)))
    if not server.startswith("https://"):
        raise InvalidInput(f'"{server}" is not the URL of an API server', subject=where)
    return Endpoint(server=server, authorities=authorities)
