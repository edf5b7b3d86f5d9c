"""spec/operator.md 8.3, 8.7 and 1.6: what the cluster's own configuration means for nodes."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from mco.base.errors import InvalidInput
from mco.plan.installation import pointer
from mco.plan.installation.cloudconfig import cloud_config
from mco.plan.installation.discovered import Sources, fields
from mco.plan.installation.network import discover, dns_ip, families

NETWORK = {
    "spec": {"serviceNetwork": ["172.30.0.0/16"], "networkType": "Spec"},
    "status": {"networkType": "OVNKubernetes"},
}


@pytest.mark.parametrize(
    ("cidr", "ip"), [("192.168.2.0/20", "192.168.0.10"), ("2001:db8::/32", "2001:db8::a")]
)
def test_dns_ip(cidr: str, ip: str) -> None:
    assert dns_ip(cidr) == ip


@pytest.mark.parametrize("cidr", ["10.0.0.1/32", "10.0.0.0/29", "192.168.2.0/99", "nonsense"])
def test_no_room_for_dns(cidr: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        dns_ip(cidr)
    assert raised.value.subject == "Network/cluster"


@pytest.mark.parametrize(
    ("cidrs", "said"),
    [
        (["10.0.0.0/16"], "IPv4"),
        (["fd00::/48"], "IPv6"),
        (["10.0.0.0/16", "fd00::/48"], "DualStack"),
        (["fd00::/48", "10.0.0.0/16"], "DualStackIPv6Primary"),
    ],
)
def test_families(cidrs: list[str], said: str) -> None:
    assert families(cidrs) == said


def test_no_families() -> None:
    with pytest.raises(InvalidInput):
        families([])


@pytest.mark.parametrize("services", [[], ["10.0.0.0/99"]])
def test_a_network_that_cannot_be_used(services: list[str]) -> None:
    with pytest.raises(InvalidInput):
        fields(Sources(network={"spec": {"serviceNetwork": services}}), "1")


@pytest.mark.parametrize(
    ("status", "type_", "mtu"),
    [
        ({}, "Spec", None),
        ({"networkType": "Status"}, "Status", None),
        ({"networkType": "Status", "migration": {"networkType": "Target"}}, "Target", None),
        ({"networkType": "Status", "migration": {"mtu": {"machine": {"to": 9000}}}}, "Status", 9000),
    ],
)
def test_network_type(status: dict[str, Any], type_: str, mtu: int | None) -> None:
    """A migration of the MTU alone changes no type."""
    found = discover({**NETWORK, "status": status})
    assert found.type == type_
    assert (found.mtu_migration or {}).get("machine", {}).get("to") == mtu


@pytest.mark.parametrize(
    ("status", "platform"),
    [
        ({"platformStatus": {"type": "AWS"}}, "aws"),
        ({"platform": "AWS"}, "aws"),
        ({"platformStatus": {}}, "none"),
        ({}, "none"),
    ],
)
def test_platform(status: dict[str, Any], platform: str) -> None:
    found = {"spec": {}, "status": status}
    made = fields(Sources(infrastructure=found), "1")
    assert made["platform"] == platform
    assert made["infra"]["status"]["platformStatus"]["type"].lower() == platform
    assert found["status"] is status


def test_proxy() -> None:
    status = {"httpProxy": "http://p", "noProxy": "*"}
    made = fields(Sources(network=NETWORK, proxy={"spec": {}, "status": status}), "1")
    assert made["proxy"] == status
    assert fields(Sources(proxy={"spec": {"httpProxy": "x"}}), "1")["proxy"] is None


def test_nothing_is_said_of_what_is_not_there() -> None:
    assert fields(Sources(), "1") == {}


@pytest.mark.parametrize(
    ("platform", "named", "data", "config", "ca"),
    [
        ("AWS", False, None, "", None),
        ("Azure", False, {"cloud.conf": "text"}, "text", None),
        ("AWS", False, {}, "", None),
        ("AWS", True, {}, "", None),
        ("AWS", False, {"ca-bundle.pem": "PEM"}, "", "PEM"),
        ("AWS", False, {"ca-bundle.pem": "UEVNIQ=="}, "", "PEM!"),
        ("None", False, None, "", None),
    ],
)
def test_cloud_config(
    platform: str, named: bool, data: dict[str, str] | None, config: str, ca: str | None
) -> None:
    found = cloud_config(platform, named, data)
    assert found.config == config
    assert found.authorities == (base64.b64encode(ca.encode()).decode() if ca else None)


@pytest.mark.parametrize(
    ("platform", "named", "data", "text"),
    [
        ("Azure", False, None, "configmap is required on platform Azure but not found"),
        ("AWS", True, None, "configmap is required on platform AWS but not found"),
        ("Azure", False, {}, "configmap must have the cloud.conf key on platform Azure but not found"),
    ],
)
def test_cloud_config_that_is_missing(
    platform: str, named: bool, data: dict[str, str] | None, text: str
) -> None:
    with pytest.raises(InvalidInput, match=f"openshift-config-managed/kube-cloud-config {text}") as raised:
        cloud_config(platform, named, data)
    assert raised.value.subject.endswith("kube-cloud-config")


def infrastructure(kind: str, *addresses: str, uri: str = "https://api-int.example:6443") -> dict[str, Any]:
    platform = {"type": kind, kind.lower(): {"apiServerInternalIPs": list(addresses)}}
    return {"status": {"apiServerInternalURI": uri, "platformStatus": platform}}


@pytest.mark.parametrize(
    ("found", "host"),
    [
        (infrastructure("AWS", "10.0.0.1"), "api-int.example"),
        (infrastructure("BareMetal", "10.0.0.1", "fd00::1"), "10.0.0.1"),
        (infrastructure("BareMetal"), "api-int.example"),
        (infrastructure("OpenStack", "fd00::1"), "[fd00::1]"),
        (infrastructure("VSphere"), "api-int.example"),
        (infrastructure("Nutanix", "10.0.0.1"), "api-int.example"),
        (infrastructure("None", uri="https://[fd00::2]:6443"), "[fd00::2]"),
    ],
)
def test_where_machines_ask(found: dict[str, Any], host: str) -> None:
    assert pointer.host(found) == host


def test_user_data() -> None:
    made = msgspec.json.decode(pointer.user_data("edge", infrastructure("AWS"), b"PEM"))
    assert made["ignition"]["version"] == "3.5.0"
    assert made["ignition"]["config"]["merge"] == [{"source": "https://api-int.example:22623/config/edge"}]
    (authority,) = made["ignition"]["security"]["tls"]["certificateAuthorities"]
    assert authority["source"].endswith(";base64," + base64.b64encode(b"PEM").decode())


@pytest.mark.parametrize("lacking", ["baseOSContainerImage", "osImageURL", "releaseVersion", "wrong version"])
def test_images_of_the_operating_system(lacking: str) -> None:
    data = {
        "baseOSContainerImage": "os",
        "baseOSExtensionsContainerImage": "extensions",
        "osImageURL": "",
        "releaseVersion": "1",
    }
    assert fields(Sources(os_images=data), "1")["baseOSContainerImage"] == "os"
    data.pop(lacking, None)
    with pytest.raises(InvalidInput):
        fields(Sources(os_images=data), "2" if lacking == "wrong version" else "1")
