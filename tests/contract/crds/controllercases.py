"""ControllerConfig with the OpenShift types inside of it (spec/controllerconfig.md 5, 6)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Kind

KIND = Kind("ControllerConfig")

_REQUIRED: Body = {
    "additionalTrustBundle": None,
    "baseOSContainerImage": "",
    "cloudProviderCAData": None,
    "cloudProviderConfig": "",
    "clusterDNSIP": "10.0.0.10",
    "dns": None,
    "images": {},
    "infra": None,
    "ipFamilies": "IPv4",
    "kubeAPIServerServingCAData": "Y2E=",
    "network": None,
    "proxy": None,
    "releaseImage": "",
    "rootCAData": "Y2E=",
}
_NULLABLE = ("additionalTrustBundle", "cloudProviderCAData", "dns", "infra", "network", "proxy")


def controller(**more: Any) -> Body:
    return {**_REQUIRED, **more}


def _dns(**spec: Any) -> Body:
    return controller(
        dns={"apiVersion": "config.openshift.io/v1", "kind": "DNS", "metadata": {}, "spec": spec}
    )


def _infra(spec: Body | None = None, status: Body | None = None) -> Body:
    infra = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "spec": spec or {},
    }
    return controller(infra=infra if status is None else infra | {"status": status})


def platform_spec(**platform: Any) -> Body:
    return _infra({"platformSpec": platform})


def platform_status(**platform: Any) -> Body:
    return _infra(status={"platformStatus": platform})


def _role(partition: str) -> Body:
    return _dns(
        platform={"type": "AWS", "aws": {"privateZoneIAMRole": f"arn:{partition}:iam::123456789012:role/r"}}
    )


GENERAL = (
    KIND.accepted("everything that is required", controller()),
    KIND.refused("no spec", None, "Required value", "spec"),
    *(
        KIND.refused(
            f"no {field}",
            {name: value for name, value in _REQUIRED.items() if name != field},
            "Required value",
            f"spec.{field}",
        )
        for field in _REQUIRED
    ),
    *(
        KIND.refused(f"{field} is null", controller(**{field: None}), "Required value", f"spec.{field}")
        for field in _REQUIRED
        if field not in _NULLABLE
    ),
    KIND.refused(
        "a CA that is no base64", controller(rootCAData="-----"), "must be of type byte", "spec.rootCAData"
    ),
    KIND.accepted("any IP family", controller(ipFamilies="Both")),
    KIND.refused(
        "an image that is a number", controller(images={"a": 1}), "must be of type string", "spec.images.a"
    ),
    KIND.accepted("unknown fields, which are dropped", controller(more=1), spec__more=None),
    KIND.refused("no BGP peers", controller(bgpVIPPeersJSON=""), "should be at least 1 chars long"),
    KIND.refused("a network without its migration", controller(network={}), "Required value"),
    KIND.accepted("a network without a migration", controller(network={"mtuMigration": None})),
    KIND.refused(
        "a negative MTU",
        controller(network={"mtuMigration": {"network": {"from": -1}}}),
        "should be greater than or equal to 0",
        "spec.network.mtuMigration.network.from",
    ),
    KIND.refused(
        "a bundle without data",
        controller(imageRegistryBundleData=[{"file": "a"}]),
        "Required value",
        "spec.imageRegistryBundleData[0].data",
    ),
    KIND.status(
        "a condition without a status",
        controller(),
        {"conditions": [{"type": "TemplateControllerRunning", "lastTransitionTime": None}]},
        "Required value",
        "status.conditions[0].status",
    ),
    KIND.status(
        "a condition twice",
        controller(),
        {"conditions": [{"type": "A", "status": "True", "lastTransitionTime": None}] * 2},
        "Duplicate value",
    ),
    KIND.status(
        "a certificate without a signer",
        controller(),
        {"controllerCertificates": [{"subject": "s", "bundleFile": "f"}]},
        "Required value",
        "status.controllerCertificates[0].signer",
    ),
    KIND.status(
        "certificates",
        controller(),
        {"controllerCertificates": [{"subject": "s", "bundleFile": "f", "signer": "i"}] * 2},
    ),
)

DNS = (
    KIND.accepted(
        "DNS, a base domain", _dns(baseDomain="example.com"), spec__dns__spec__baseDomain="example.com"
    ),
    KIND.accepted("DNS, labels of the object stay", _dns() | {}, spec__dns__kind="DNS"),
    KIND.refused("DNS without a spec", controller(dns={"apiVersion": "v1", "kind": "DNS"}), "Required value"),
    KIND.refused(
        "DNS without a kind",
        controller(dns={"apiVersion": "v1", "spec": {}}),
        "Required value",
        "spec.dns.kind",
    ),
    *(
        KIND.accepted(f"DNS, role in {name}", _role(name))
        for name in ("aws", "aws-cn", "aws-us-gov", "aws-eusc")
    ),
    KIND.refused(
        "DNS, role elsewhere",
        _role("aws-iso"),
        "privateZoneIAMRole must be a valid AWS IAM role ARN in the format",
        "spec.dns.spec.platform.aws.privateZoneIAMRole",
    ),
    KIND.refused(
        "DNS, AWS without its member",
        _dns(platform={"type": "AWS"}),
        "aws configuration is required when platform is AWS, and forbidden otherwise",
        "spec.dns.spec.platform",
    ),
    KIND.refused("DNS, another platform", _dns(platform={"type": "GCP"}), "allowed values are '' and 'AWS'"),
    KIND.accepted("DNS, no platform", _dns(platform={"type": ""})),
)

_TOPOLOGIES = ("HighlyAvailable", "HighlyAvailableArbiter", "SingleReplica", "DualReplica", "External")
_TOPOLOGY_TEXT = (
    "spec.controlPlaneTopology must match status.controlPlaneTopology or be set to HighlyAvailable"
)


def _topology(spec: str, status: str) -> Body:
    return _infra({"controlPlaneTopology": spec} if spec else {}, {"controlPlaneTopology": status})


INFRASTRUCTURE = (
    KIND.accepted(
        "infrastructure, defaults of the status",
        _infra(status={}),
        spec__infra__status__controlPlaneTopology="HighlyAvailable",
        spec__infra__status__cpuPartitioning="None",
        spec__infra__status__infrastructureTopology="HighlyAvailable",
        spec__infra__metadata__name="cluster",
    ),
    KIND.accepted("infrastructure, no status, no defaults", _infra(), spec__infra__status=None),
    KIND.refused(
        "infrastructure without a spec", controller(infra={"apiVersion": "v1", "kind": "I"}), "Required value"
    ),
    *(KIND.accepted(f"topology {name}", _topology("", name)) for name in _TOPOLOGIES),
    KIND.refused("another topology", _topology("", "Dual"), "Unsupported value"),
    KIND.update(
        "the wanted topology is what is there",
        _topology("", "SingleReplica"),
        _topology("SingleReplica", "SingleReplica"),
    ),
    KIND.update(
        "one replica becomes many",
        _topology("", "SingleReplica"),
        _topology("HighlyAvailable", "SingleReplica"),
    ),
    KIND.update(
        "many replicas become one",
        _topology("", "HighlyAvailable"),
        _topology("SingleReplica", "HighlyAvailable"),
        _TOPOLOGY_TEXT,
        "spec.infra",
    ),
    KIND.accepted("platform External", _infra(status={"platform": "External"})),
    KIND.refused("another platform", _infra(status={"platform": "Mars"}), "Unsupported value"),
    KIND.accepted(
        "an external platform without a name",
        platform_spec(external={}),
        spec__infra__spec__platformSpec__external__platformName="Unknown",
    ),
    KIND.update(
        "an external platform gets its name",
        platform_spec(external={}),
        platform_spec(external={"platformName": "a"}),
    ),
    KIND.update(
        "an external platform changes its name",
        platform_spec(external={"platformName": "a"}),
        platform_spec(external={"platformName": "b"}),
        "platform name cannot be changed once set",
    ),
)

CONTROLLERS = (*GENERAL, *DNS, *INFRASTRUCTURE)
