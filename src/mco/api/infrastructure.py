"""Infrastructure of `config.openshift.io`: where the cluster runs, and how many control planes it has."""

from __future__ import annotations

import msgspec

from mco.api.meta.objects import APIStruct, Object


class PlatformStatus(APIStruct, frozen=True, kw_only=True):
    type: str = ""


class InfrastructureStatus(APIStruct, frozen=True, kw_only=True):
    platform_status: PlatformStatus = msgspec.field(default_factory=PlatformStatus)
    api_server_internal_uri: str = msgspec.field(default="", name="apiServerInternalURI")
    control_plane_topology: str = ""


class Infrastructure(Object, frozen=True, kw_only=True):
    """A cluster has one, `cluster`."""

    status: InfrastructureStatus = msgspec.field(default_factory=InfrastructureStatus)
