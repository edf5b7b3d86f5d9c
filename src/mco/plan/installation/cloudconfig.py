"""The cloud provider's configuration that goes to nodes (spec/operator.md 1.6; cases in 8.3)."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec

from mco.api.names import OPENSHIFT_CONFIG_MANAGED
from mco.base.errors import InvalidInput
from mco.plan.installation.contents import decoded

NAME = "kube-cloud-config"
CONFIG_KEY, AUTHORITIES_KEY = "cloud.conf", "ca-bundle.pem"
_NEEDED = frozenset(("Azure", "GCP", "OpenStack", "VSphere"))


class CloudConfig(msgspec.Struct, frozen=True):
    """`authorities` is base64 of PEM, as a ControllerConfig has it."""

    config: str = ""
    authorities: str | None = None


def cloud_config(platform: str, named: bool, data: Mapping[str, str] | None) -> CloudConfig:
    """`named`: the Infrastructure names a configuration; `data` of the ConfigMap, None when it is not there.

    Raises InvalidInput where the platform cannot do without."""
    place = f"{OPENSHIFT_CONFIG_MANAGED}/{NAME}"
    subject = f"ConfigMap/{place}"
    if data is None:
        if named or platform in _NEEDED:
            text = f"{place} configmap is required on platform {platform} but not found"
            raise InvalidInput(f'{text}: configmap "{NAME}" not found', subject=subject)
        return CloudConfig()
    if CONFIG_KEY not in data and platform in _NEEDED:
        text = f"{place} configmap must have the {CONFIG_KEY} key on platform {platform}"
        raise InvalidInput(f"{text} but not found", subject=subject, path=f"$.data['{CONFIG_KEY}']")
    authorities = decoded(data.get(AUTHORITIES_KEY, ""))
    return CloudConfig(
        data.get(CONFIG_KEY, ""), base64.b64encode(authorities).decode() if authorities else None
    )
