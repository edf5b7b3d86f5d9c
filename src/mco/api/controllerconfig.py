"""ControllerConfig: what the controllers know of the cluster (spec/render.md 2.3, spec/controllerconfig.md).

A narrow view: the base images, the certificates that the config server refreshes, and the topology.
"""

from __future__ import annotations

import msgspec

from mco.api.infrastructure import InfrastructureStatus
from mco.api.meta.conditions import Condition
from mco.api.meta.objects import APIStruct, Object

TEMPLATE_CONTROLLER_COMPLETED = "TemplateControllerCompleted"
TEMPLATE_CONTROLLER_RUNNING = "TemplateControllerRunning"
TEMPLATE_CONTROLLER_FAILING = "TemplateControllerFailing"


class Infrastructure(APIStruct, frozen=True, kw_only=True):
    status: InfrastructureStatus = msgspec.field(default_factory=InfrastructureStatus)


class ControllerConfigSpec(APIStruct, frozen=True, kw_only=True):
    """Certificate data are base64 text, as JSON carries bytes; None when absent."""

    base_os_container_image: str = msgspec.field(default="", name="baseOSContainerImage")
    base_os_extensions_container_image: str = msgspec.field(default="", name="baseOSExtensionsContainerImage")
    cloud_provider_ca_data: str | None = msgspec.field(default=None, name="cloudProviderCAData")
    infra: Infrastructure | None = None
    kube_api_server_serving_ca_data: str | None = msgspec.field(
        default=None, name="kubeAPIServerServingCAData"
    )
    os_image_url: str = msgspec.field(default="", name="osImageURL")
    root_ca_data: str | None = msgspec.field(default=None, name="rootCAData")


class ControllerCertificate(APIStruct, frozen=True, kw_only=True):
    subject: str
    signer: str
    not_before: str | None = None
    not_after: str | None = None
    bundle_file: str


class ControllerConfigStatus(APIStruct, frozen=True, kw_only=True):
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    controller_certificates: tuple[ControllerCertificate, ...] = ()


class ControllerConfig(Object, frozen=True, kw_only=True):
    spec: ControllerConfigSpec = msgspec.field(default_factory=ControllerConfigSpec)
    status: ControllerConfigStatus = msgspec.field(default_factory=ControllerConfigStatus)
