"""ControllerConfig (spec/controllerconfig.md 5).

What lies inside of `infra` and `dns` belongs to other APIs and is kept as it is.
"""

from __future__ import annotations

from mco.api.schema import (
    OBJECT_REFERENCE,
    atomic,
    binary,
    embedded,
    int32,
    int64,
    keyed,
    mapping,
    string,
    struct,
    timestamp,
)

_REQUIRED = (
    "additionalTrustBundle",
    "baseOSContainerImage",
    "cloudProviderCAData",
    "cloudProviderConfig",
    "clusterDNSIP",
    "dns",
    "images",
    "infra",
    "ipFamilies",
    "kubeAPIServerServingCAData",
    "network",
    "proxy",
    "releaseImage",
    "rootCAData",
)
_BUNDLES = atomic(struct({"data": binary(), "file": string()}, required=("data", "file")))
_SIZE = struct({"from": int32(minimum=0), "to": int32(minimum=0)})
_CONDITION = struct(
    {
        "lastTransitionTime": timestamp(nullable=True),
        "message": string(),
        "reason": string(),
        "status": string(),
        "type": string(),
    },
    required=("status", "type"),
)
_CERTIFICATE = struct(
    {
        "bundleFile": string(),
        "notAfter": timestamp(),
        "notBefore": timestamp(),
        "signer": string(),
        "subject": string(),
    },
    required=("bundleFile", "signer", "subject"),
)

CONTROLLER_CONFIG = struct(
    {
        "spec": struct(
            {
                "additionalTrustBundle": binary(nullable=True),
                "baseOSContainerImage": string(),
                "baseOSExtensionsContainerImage": string(),
                "bgpVIPPeersJSON": string(minLength=1, maxLength=65536),
                "cloudProviderCAData": binary(nullable=True),
                "cloudProviderConfig": string(),
                "clusterDNSIP": string(),
                "dns": embedded(nullable=True),
                "etcdDiscoveryDomain": string(),
                "imageRegistryBundleData": _BUNDLES,
                "imageRegistryBundleUserData": _BUNDLES,
                "images": mapping(string()),
                "infra": embedded(nullable=True),
                "internalRegistryPullSecret": binary(nullable=True),
                "ipFamilies": string(),
                "kubeAPIServerServingCAData": binary(),
                "network": struct(
                    {"mtuMigration": struct({"machine": _SIZE, "network": _SIZE}, nullable=True)},
                    required=("mtuMigration",),
                    nullable=True,
                ),
                "networkType": string(),
                "osImageURL": string(),
                "platform": string(),
                "proxy": struct(
                    {"httpProxy": string(), "httpsProxy": string(), "noProxy": string()}, nullable=True
                ),
                "pullSecret": OBJECT_REFERENCE,
                "releaseImage": string(),
                "rootCAData": binary(),
            },
            required=_REQUIRED,
        ),
        "status": struct(
            {
                "conditions": keyed(["type"], _CONDITION),
                "controllerCertificates": atomic(_CERTIFICATE),
                "observedGeneration": int64(),
            }
        ),
    },
    required=("spec",),
)
