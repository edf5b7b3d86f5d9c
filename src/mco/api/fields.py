"""Which fields the objects of manifests have, to tell a misspelt one (spec/node.md 1.2 to 1.4).

Only the levels that people write are listed: the object, its metadata and its spec. An Ignition config
reports its own unknown keys, and what stands deeper is left to the API server's schema.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mco.api.findings import Finding

_OBJECT: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})

_METADATA: Final = frozenset(
    [
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    ]
)

_SPECS: Final = {
    "MachineConfig": frozenset(
        [
            "baseOSExtensionsContainerImage",
            "config",
            "extensions",
            "fips",
            "kernelArguments",
            "kernelType",
            "osImageURL",
        ]
    ),
    "MachineConfigPool": frozenset(
        [
            "configuration",
            "machineConfigSelector",
            "maxUnavailable",
            "nodeSelector",
            "osImageStream",
            "paused",
            "pinnedImageSets",
        ]
    ),
    "ControllerConfig": frozenset(
        [
            "additionalTrustBundle",
            "baseOSContainerImage",
            "baseOSExtensionsContainerImage",
            "bgpVIPPeersJSON",
            "cloudProviderCAData",
            "cloudProviderConfig",
            "clusterDNSIP",
            "dns",
            "etcdDiscoveryDomain",
            "imageRegistryBundleData",
            "imageRegistryBundleUserData",
            "images",
            "infra",
            "internalRegistryPullSecret",
            "ipFamilies",
            "kubeAPIServerServingCAData",
            "network",
            "networkType",
            "osImageURL",
            "platform",
            "proxy",
            "pullSecret",
            "releaseImage",
            "rootCAData",
        ]
    ),
}


def unknown(document: Mapping[str, Any], subject: str, place: str) -> Iterator[Finding]:
    """A warning for every field that the object's type does not have: the API server would drop it."""
    kind = str(document.get("kind"))
    levels = (("$", document, _OBJECT), ("$.metadata", document.get("metadata"), _METADATA))
    for path, value, known in (*levels, ("$.spec", document.get("spec"), _SPECS.get(kind))):
        if known is None or not isinstance(value, Mapping):
            continue
        for key in value:
            if key not in known:
                yield Finding(
                    level="warning",
                    subject=subject,
                    path=f"{path}.{key}",
                    message=f'unknown field "{f"{path}.{key}".removeprefix("$.")}"',
                    hint=_suggestion(key, known),
                    place=place,
                )


def _suggestion(key: str, known: frozenset[str]) -> str:
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key.lower(), by_lower, n=1)
    return (
        f"did you mean {by_lower[close[0]]}?"
        if close
        else "remove it: it is dropped when the object is stored"
    )
