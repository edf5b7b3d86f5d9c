"""What the cluster's network means for its nodes (spec/operator.md 1.6; cases in 8.7)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mco.base.errors import InvalidInput

_SUBJECT = "Network/cluster"
_DNS_OFFSET = 10


class Discovered(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of a ControllerConfig; `mtu_migration` as the Network has it."""

    dns_ip: str
    families: str
    type: str
    mtu_migration: Mapping[str, Any] | None = None


def discover(network: Mapping[str, Any]) -> Discovered:
    """Of a Network object as builtins. Raises InvalidInput when no service network of it can be used."""
    spec, status = network.get("spec") or {}, network.get("status") or {}
    services: list[str] = status.get("serviceNetwork") or spec.get("serviceNetwork") or []
    if not services:
        raise InvalidInput("service cidr is empty in Network", subject=_SUBJECT, path="$.spec.serviceNetwork")
    migration = status.get("migration") or {}
    type_ = migration.get("networkType") or status.get("networkType") or spec.get("networkType") or ""
    return Discovered(
        dns_ip=dns_ip(services[0]),
        families=families(services),
        type=type_,
        mtu_migration=migration.get("mtu"),
    )


def dns_ip(cidr: str) -> str:
    """The address that the cluster's DNS has in a service network. Raises InvalidInput."""
    network = _parsed(cidr)
    address = network.network_address + _DNS_OFFSET
    if address not in network:
        raise InvalidInput(
            f"{cidr} is too small to hold the DNS service",
            subject=_SUBJECT,
            path="$.spec.serviceNetwork",
            hint="its tenth address is the one of the cluster's DNS",
        )
    return str(address)


def families(cidrs: Sequence[str]) -> str:
    """IPv4, IPv6, DualStack, or DualStackIPv6Primary. Raises InvalidInput for none and for what is no
    network."""
    if not cidrs:
        raise InvalidInput(
            "IP families could not be determined", subject=_SUBJECT, path="$.spec.serviceNetwork"
        )
    found = [_parsed(cidr).version for cidr in cidrs]
    if len(set(found)) == 1:
        return f"IPv{found[0]}"
    return "DualStack" if found[0] == 4 else "DualStackIPv6Primary"


def _parsed(cidr: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(cidr, strict=False)
    except ValueError as error:
        raise InvalidInput(
            f"invalid CIDR address: {cidr}", subject=_SUBJECT, path="$.spec.serviceNetwork"
        ) from error
