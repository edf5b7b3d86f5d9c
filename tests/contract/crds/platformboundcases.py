"""Bounds of a ControllerConfig and the platforms in it (spec/controllerconfig.md 5, 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.contract.crds.bounds import Wrong, at_least, specs, too_long
from tests.contract.crds.cases import Body, Case, Kind
from tests.contract.crds.controllercases import controller, platform_spec, platform_status

_ADDRESS = "1" * 40
_NETWORK = "1" * 44
_CONTROLLER = Kind("ControllerConfig")
_PORT = {
    "port": 9440,
    "address": "a",
}
_VSPHERE = {
    "apiServerInternalIPs": ["10.0.0.1"],
    "ingressIPs": ["10.0.0.2"],
    "machineNetworks": ["10.0.0.0/24"],
    "vcenters": [{"server": "a", "datacenters": ["dc"], "port": 443}],
    "failureDomains": [
        {
            "name": "d",
            "region": "r",
            "zone": "z",
            "server": "a",
            "regionAffinity": {"type": "ComputeCluster"},
            "zoneAffinity": {
                "type": "HostGroup",
                "hostGroup": {"vmGroup": "v", "hostGroup": "h", "vmHostRule": "r"},
            },
            "topology": {
                "computeCluster": "/dc/host/c",
                "datacenter": "dc",
                "datastore": "/dc/datastore/d",
                "networks": ["n"],
                "folder": "/dc/vm/f",
                "resourcePool": "/dc/host/c/Resources/p",
                "template": "/dc/vm/t",
            },
        }
    ],
}
_NUTANIX = {
    "prismCentral": _PORT,
    "prismElements": [{"name": "e", "endpoint": _PORT}],
    "failureDomains": [
        {
            "name": "d",
            "cluster": {"type": "UUID", "uuid": "u"},
            "subnets": [{"type": "UUID", "uuid": "u"}],
        }
    ],
}
_VIPS = {key: _VSPHERE[key] for key in ("apiServerInternalIPs", "ingressIPs", "machineNetworks")}
_LONG_VIPS = {
    "apiServerInternalIPs.0": (_ADDRESS, too_long(39)),
    "ingressIPs.0": (_ADDRESS, too_long(39)),
    "machineNetworks.0": (_NETWORK, too_long(43)),
}
_DOMAIN = "failureDomains.0"
_LONG_PATHS = {
    "computeCluster": "/dc/host/",
    "datastore": "/dc/datastore/",
    "folder": "/dc/vm/",
    "resourcePool": "/dc/host/c/Resources/",
    "template": "/dc/vm/",
}
_UUID_TEXT = "uuid configuration is required when type is UUID, and forbidden otherwise"
_SPEC_PLATFORMS: Mapping[str, tuple[Body, Wrong]] = {
    "baremetal": (_VIPS, _LONG_VIPS),
    "openstack": (_VIPS, _LONG_VIPS),
    "vsphere": (
        _VSPHERE,
        {
            **_LONG_VIPS,
            "vcenters.0.port": (0, at_least(1)),
            "vcenters.0.server": ("x" * 256, too_long(255)),
            f"{_DOMAIN}.name": ("x" * 257, too_long(256)),
            f"{_DOMAIN}.region": ("x" * 81, too_long(80)),
            f"{_DOMAIN}.zone": ("x" * 81, too_long(80)),
            f"{_DOMAIN}.server": ("x" * 256, too_long(255)),
            f"{_DOMAIN}.topology.datacenter": ("x" * 81, too_long(80)),
            **{
                f"{_DOMAIN}.topology.{field}": (start + "x" * (2049 - len(start)), too_long(2048))
                for field, start in _LONG_PATHS.items()
            },
            **{
                f"{_DOMAIN}.zoneAffinity.hostGroup.{field}": ("x" * 81, too_long(80))
                for field in ("vmGroup", "hostGroup", "vmHostRule")
            },
        },
    ),
    "nutanix": (
        _NUTANIX,
        {
            "prismCentral.address": ("x" * 257, too_long(256)),
            "prismCentral.port": (65536, "should be less than or equal to 65535"),
            "prismElements.0.name": ("x" * 257, too_long(256)),
            "prismElements.0.endpoint.port": (0, at_least(1)),
            f"{_DOMAIN}.name": ("x" * 65, too_long(64)),
            f"{_DOMAIN}.cluster": ({"type": "UUID"}, _UUID_TEXT),
            f"{_DOMAIN}.subnets.0": ({"type": "Name", "name": "n", "uuid": "u"}, _UUID_TEXT),
            f"{_DOMAIN}.subnets": ([{"type": "Name", "name": "n"}] * 2, "each subnet must be unique"),
        },
    ),
    "ibmcloud": (
        {"serviceEndpoints": [{"name": "IAM", "url": "https://iam.example.com/v1"}]},
        {"serviceEndpoints.0.url": (f"https://{'x' * 300}/v1", too_long(300))},
    ),
}
_TAG = {"key": "a", "value": "v"}
_LONG_TAG = {
    "resourceTags.0.key": ("x" * 129, too_long(128)),
    "resourceTags.0.value": ("x" * 257, too_long(256)),
}
_HOSTED = {
    "dnsType": "ClusterHosted",
    "clusterHosted": {
        name: ["10.0.0.1"]
        for name in ("apiIntLoadBalancerIPs", "apiLoadBalancerIPs", "ingressLoadBalancerIPs")
    },
}
_LONG_HOSTS = {
    f"cloudLoadBalancerConfig.clusterHosted.{name}.0": (_ADDRESS, too_long(39))
    for name in _HOSTED["clusterHosted"]
}
_STATUS_PLATFORMS: Mapping[str, tuple[Body, Wrong]] = {
    "alibabaCloud": (
        {"region": "r", "resourceTags": [_TAG]},
        {
            "resourceTags.0.key": ("x" * 129, too_long(128)),
            "resourceTags.0.value": ("x" * 129, too_long(128)),
        },
    ),
    "aws": (
        {"resourceTags": [_TAG, _TAG], "cloudLoadBalancerConfig": _HOSTED},
        {
            **_LONG_TAG,
            **_LONG_HOSTS,
            "resourceTags.1.value": ("#", "invalid AWS resource tag value."),
        },
    ),
    "azure": (
        {"resourceTags": [_TAG], "cloudLoadBalancerConfig": _HOSTED},
        {**_LONG_TAG, **_LONG_HOSTS},
    ),
    "gcp": (
        {
            "resourceLabels": [_TAG],
            "resourceTags": [{**_TAG, "parentID": "1"}],
            "universeDomain": "a",
            "cloudLoadBalancerConfig": _HOSTED,
        },
        {
            "resourceLabels.0.key": ("x" * 64, too_long(63)),
            "resourceLabels.0.value": ("x" * 64, too_long(63)),
            "resourceTags.0.key": ("x" * 64, too_long(63)),
            "resourceTags.0.value": ("x" * 64, too_long(63)),
            "resourceTags.0.parentID": ("1" * 33, too_long(32)),
            "universeDomain": ("x" * 254, too_long(253)),
            **_LONG_HOSTS,
        },
    ),
    "ibmcloud": (
        {"serviceEndpoints": [{"name": "IAM", "url": "https://iam.example.com/v1"}]},
        {"serviceEndpoints.0.url": (f"https://{'x' * 300}/v1", too_long(300))},
    ),
    "powervs": ({"resourceGroup": "a"}, {"resourceGroup": ("x" * 41, too_long(40))}),
    **{
        name: (
            {"machineNetworks": ["10.0.0.0/24"]},
            {"machineNetworks.0": (_NETWORK, too_long(43))},
        )
        for name in ("baremetal", "openstack", "vsphere")
    },
}


def _platforms() -> Iterator[Case]:
    for name, (whole, wrong) in _SPEC_PLATFORMS.items():
        place = f"infra.spec.platformSpec.{name}"
        yield from specs(_CONTROLLER, platform_spec(**{name: whole}), wrong, place)
    for name, (whole, wrong) in _STATUS_PLATFORMS.items():
        place = f"infra.status.platformStatus.{name}"
        yield from specs(_CONTROLLER, platform_status(**{name: whole}), wrong, place)


_MIGRATION = {part: {"from": 0, "to": 0} for part in ("machine", "network")}
_MTU = {
    f"network.mtuMigration.{part}.{side}": (-1, at_least(0))
    for part in ("machine", "network")
    for side in ("from", "to")
}

PLATFORM_BOUNDS: tuple[Case, ...] = (
    *specs(
        _CONTROLLER,
        controller(network={"mtuMigration": _MIGRATION}, bgpVIPPeersJSON="x" * 65536),
        {**_MTU, "bgpVIPPeersJSON": ("x" * 65537, too_long(65536))},
    ),
    *_platforms(),
)
