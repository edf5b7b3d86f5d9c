"""The platforms inside of a ControllerConfig's infrastructure (spec/controllerconfig.md 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.contract.crds.cases import Body, Case, Step
from tests.contract.crds.controllercases import KIND, platform_spec, platform_status


def _addresses() -> Iterator[Case]:
    """Virtual addresses of the three platforms that have them in their spec."""
    text = "must contain at most one IPv4 address and at most one IPv6 address"
    for platform in ("baremetal", "openstack", "vsphere"):
        at = f"spec.infra.spec.platformSpec.{platform}"
        for field in ("apiServerInternalIPs", "ingressIPs"):
            for name, value, error in (
                ("one of each family", ["10.0.0.1", "fd00::1"], ""),
                ("two of one family", ["10.0.0.1", "10.0.0.2"], f"{field} {text}"),
                ("no address", ["ten"], "value must be a valid IP address"),
                ("three", ["10.0.0.1", "fd00::1", "fd00::2"], "must have at most 2 items"),
            ):
                spec = platform_spec(**{platform: {field: value}})
                field_at = f"{at}.{field}{'[0]' if value == ['ten'] else ''}"
                yield KIND.steps(
                    f"{platform} {field}, {name}", Step("create", spec, error, field_at if error else "")
                )
            yield KIND.update(
                f"{platform} {field} go",
                platform_spec(**{platform: {field: ["10.0.0.1"]}}),
                platform_spec(**{platform: {}}),
                f"{field} list is required once set",
                at,
            )
        yield KIND.refused(
            f"{platform}, a network that is none",
            platform_spec(**{platform: {"machineNetworks": ["10.0.0.0"]}}),
            "value must be a valid CIDR network address",
        )
        yield KIND.refused(
            f"{platform}, a network twice",
            platform_spec(**{platform: {"machineNetworks": ["10.0.0.0/24"] * 2}}),
            "failed rule",
            f"{at}.machineNetworks",
        )


def _centers(*servers: str, domains: tuple[str, ...] = ()) -> Body:
    vsphere: Body = {"vcenters": [{"server": s, "datacenters": ["dc"]} for s in servers]}
    if domains:
        vsphere["failureDomains"] = [_domain(f"d{n}", server) for n, server in enumerate(domains)]
    return platform_spec(type="VSphere", vsphere=vsphere)


def _domain(name: str, server: str, networks: int = 1, **more: Any) -> Body:
    topology = {
        "computeCluster": "/dc/host/cluster",
        "datacenter": "dc",
        "datastore": "/dc/datastore/ds",
        "networks": [f"n{n}" for n in range(networks)],
    }
    return {"name": name, "region": "r", "zone": "z", "server": server, "topology": topology, **more}


def _domains(*domains: Body) -> Body:
    vsphere = {"vcenters": [{"server": "a", "datacenters": ["dc"]}], "failureDomains": list(domains)}
    return platform_spec(vsphere=vsphere)


_BOTH_WAYS = "Cannot add and remove vCenters at the same time"
_GROUP = {"type": "HostGroup", "hostGroup": {"vmGroup": "v", "hostGroup": "h", "vmHostRule": "r"}}
_FIRST_DOMAIN = "spec.infra.spec.platformSpec.vsphere.failureDomains[0]"

VSPHERE = (
    KIND.accepted("three vCenters", _centers("a", "b", "c")),
    KIND.refused("four vCenters", _centers("a", "b", "c", "d"), "must have at most 3 items"),
    KIND.refused("no vCenter in the list", _centers(), "should have at least 1 items"),
    KIND.refused("a vCenter twice", _centers("a", "a"), "vcenters must have unique server values"),
    KIND.update("a vCenter is added", _centers("a"), _centers("a", "b")),
    KIND.update("a vCenter is removed", _centers("a", "b"), _centers("b")),
    KIND.update("a vCenter is exchanged", _centers("a"), _centers("b"), _BOTH_WAYS),
    KIND.update("one goes and another comes", _centers("a", "b", "c"), _centers("a", "d"), _BOTH_WAYS),
    KIND.update(
        "vCenters go",
        _centers("a"),
        platform_spec(type="VSphere", vsphere={}),
        "vcenters is required once set and cannot be removed",
        "spec.infra.spec.platformSpec",
    ),
    KIND.refused(
        "a failure domain of an unknown vCenter",
        _centers("a", domains=("a", "b")),
        "all failure domains must have a corresponding vCenter entry",
    ),
    KIND.accepted("ten networks", _domains(_domain("d", "a", networks=10))),
    KIND.refused("eleven networks", _domains(_domain("d", "a", networks=11)), "must have at most 10 items"),
    KIND.refused("a domain twice", _domains(_domain("d", "a"), _domain("d", "a")), "Duplicate value"),
    KIND.accepted(
        "host groups",
        _domains(_domain("d", "a", zoneAffinity=_GROUP, regionAffinity={"type": "ComputeCluster"})),
    ),
    KIND.refused(
        "host groups of a data center",
        _domains(_domain("d", "a", zoneAffinity=_GROUP, regionAffinity={"type": "Datacenter"})),
        "when zoneAffinity type is HostGroup, regionAffinity type must be ComputeCluster",
        _FIRST_DOMAIN,
    ),
    KIND.refused(
        "clusters without a region",
        _domains(_domain("d", "a", zoneAffinity={"type": "ComputeCluster"})),
        "when zoneAffinity type is ComputeCluster, regionAffinity type must be Datacenter",
        _FIRST_DOMAIN,
    ),
    KIND.refused(
        "a host group is missing",
        _domains(_domain("d", "a", zoneAffinity={"type": "HostGroup"})),
        "hostGroup is required when type is HostGroup, and forbidden otherwise",
    ),
)


def tags(*keys: str, value: str = "v") -> list[Body]:
    return [{"key": key, "value": value} for key in keys]


def _nutanix(**reference: Any) -> Body:
    address = {"address": "a", "port": 9440}
    domain = {"name": "d", "cluster": reference, "subnets": [{"type": "Name", "name": "s"}]}
    return platform_spec(nutanix={"prismCentral": address, "prismElements": [], "failureDomains": [domain]})


def _endpoint(url: str) -> Body:
    return platform_spec(ibmcloud={"serviceEndpoints": [{"name": "IAM", "url": url}]})


CLOUDS = (
    KIND.accepted(
        "AWS, defaults",
        platform_status(aws={"cloudLoadBalancerConfig": {}}),
        spec__infra__status__platformStatus__aws__ipFamily="IPv4",
        spec__infra__status__platformStatus__aws__cloudLoadBalancerConfig__dnsType="PlatformDefault",
    ),
    KIND.update(
        "AWS, another IP family",
        platform_status(aws={"ipFamily": "IPv4"}),
        platform_status(aws={"ipFamily": "DualStackIPv4Primary"}),
        "ipFamily is immutable once set",
    ),
    # The range from + to @ in the pattern holds more than the text says.
    KIND.accepted("AWS, a tag with a question mark", platform_status(aws={"resourceTags": tags("a?")})),
    KIND.refused(
        "AWS, a tag with a hash",
        platform_status(aws={"resourceTags": tags("a#")}),
        "invalid AWS resource tag key.",
    ),
    KIND.refused(
        "AWS, hosts of one's own with the platform's DNS",
        platform_status(aws={"cloudLoadBalancerConfig": {"clusterHosted": {}}}),
        "clusterHosted is permitted only when dnsType is ClusterHosted",
    ),
    KIND.refused(
        "AWS, an endpoint without TLS",
        platform_spec(aws={"serviceEndpoints": [{"name": "ec2", "url": "http://a"}]}),
        "should match",
    ),
    KIND.update(
        "Azure, tags come later",
        platform_status(azure={}),
        platform_status(azure={"resourceTags": tags("a")}),
        "resourceTags may only be configured during installation",
    ),
    KIND.update(
        "Azure, tags change",
        platform_status(azure={"resourceTags": tags("a")}),
        platform_status(azure={"resourceTags": tags("a", value="w")}),
        "resourceTags are immutable and may only be configured during installation",
    ),
    KIND.update(
        "Azure, tags in another order",
        platform_status(azure={"resourceTags": tags("a", "b")}),
        platform_status(azure={"resourceTags": tags("b", "a")}),
    ),
    KIND.refused(
        "GCP, a label of the platform",
        platform_status(gcp={"resourceLabels": tags("openshift-io-a")}),
        "label keys must not start with either `openshift-io` or `kubernetes-io`",
    ),
    KIND.refused(
        "GCP, a universe in upper case",
        platform_status(gcp={"universeDomain": "Apis.example"}),
        "universeDomain must be a valid DNS subdomain",
    ),
    KIND.refused(
        "Nutanix, a name without a name",
        _nutanix(type="Name", uuid="u"),
        "name configuration is required when type is Name, and forbidden otherwise",
    ),
    KIND.accepted("Nutanix, a UUID", _nutanix(type="UUID", uuid="u")),
    KIND.accepted("IBM, an endpoint", _endpoint("https://iam.example.com/v1")),
    KIND.refused(
        "IBM, an endpoint without TLS", _endpoint("http://iam.example.com/v1"), "url must use https scheme"
    ),
    KIND.refused(
        "IBM, another path",
        _endpoint("https://iam.example.com/one"),
        "url path must match /v[0,9]+ or /api/v[0,9]+",
    ),
    KIND.refused("IBM, no URL", _endpoint("iam"), "url must be a valid absolute URL"),
    KIND.update(
        "PowerVS, the resource group goes",
        platform_status(powervs={"resourceGroup": "a"}),
        platform_status(powervs={}),
        "cannot unset resourceGroup once set",
    ),
    KIND.update(
        "external, a cloud controller manager comes later",
        platform_status(external={}),
        platform_status(external={"cloudControllerManager": {}}),
        "cloudControllerManager may not be added or removed once set",
    ),
    KIND.refused(
        "bare metal, external DNS records with the cluster's load balancer",
        platform_status(baremetal={"dnsRecordsType": "External"}),
        "dnsRecordsType may only be set to External when loadBalancer.type is UserManaged",
    ),
    KIND.accepted(
        "bare metal, external DNS records with one's own load balancer",
        platform_status(baremetal={"dnsRecordsType": "External", "loadBalancer": {"type": "UserManaged"}}),
    ),
    KIND.update(
        "bare metal, another load balancer",
        platform_status(baremetal={"loadBalancer": {}}),
        platform_status(baremetal={"loadBalancer": {"type": "UserManaged"}}),
        "type is immutable once set",
    ),
)

PLATFORMS = (*_addresses(), *VSPHERE, *CLOUDS)
