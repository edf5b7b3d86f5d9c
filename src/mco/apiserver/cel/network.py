"""Addresses and networks of the Kubernetes CEL library."""

from __future__ import annotations

import ipaddress
from typing import Any

from mco.apiserver.cel.values import NO_OVERLOAD, Failure, Opaque

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

IP, CIDR = "net.IP", "net.CIDR"


def parse_ip(text: str) -> Address:
    if "%" in text:
        raise ValueError(f'IP address "{text}" with zone value is not allowed')
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(
            f'IP Address "{text}" parse error during conversion from string: '
            f'ParseAddr("{text}"): unable to parse IP'
        ) from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def parse_cidr(text: str) -> tuple[Address, Network]:
    """The address as written, and its network."""
    address, slash, length = text.rpartition("/")
    problem = "no '/'"
    if slash:
        problem = _length_problem(address, length)
    try:
        found = parse_ip(address) if not problem else None
    except ValueError as error:
        if "IPv4-mapped" in str(error):
            raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed') from None
        problem = str(error).partition("conversion from string: ")[2] or str(error)
    if problem or found is None:
        raise ValueError(
            "network address parse error during conversion from string: network address parse error during "
            f'conversion from string: netip.ParsePrefix("{text}"): {problem}'
        )
    return found, ipaddress.ip_network(text, strict=False)


def _length_problem(address: str, length: str) -> str:
    if not length.isascii() or not length.isdigit() or (len(length) > 1 and length.startswith("0")):
        return f'bad bits after slash: "{length}"'
    return "prefix length out of range" if int(length) > (128 if ":" in address else 32) else ""


def is_ip(text: str) -> bool:
    return _holds(parse_ip, text)


def is_cidr(text: str) -> bool:
    return _holds(parse_cidr, text)


def ip(value: str | Opaque) -> Opaque:
    """From text, or the address of a network."""
    if isinstance(value, str):
        return _address_value(parse_ip(value))
    return _address_value(value.content[0])


def is_canonical(text: str) -> bool:
    return str(parse_ip(text)) == text


def family(value: Opaque) -> int:
    return _address(value).version


def is_unspecified(value: Opaque) -> bool:
    return _address(value).is_unspecified


def is_loopback(value: Opaque) -> bool:
    return _address(value).is_loopback


def is_link_local_multicast(value: Opaque) -> bool:
    address = _address(value)
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.ip_network("224.0.0.0/24")
    return address.is_multicast and address.packed[1] & 0x0F == 2


def is_link_local_unicast(value: Opaque) -> bool:
    return _address(value).is_link_local


def is_global_unicast(value: Opaque) -> bool:
    address = _address(value)
    broadcast = ipaddress.IPv4Address("255.255.255.255")
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == broadcast
    )


def cidr(text: str) -> Opaque:
    return _network_value(*parse_cidr(text))


def masked(value: Opaque) -> Opaque:
    network = _network(value)
    return _network_value(network.network_address, network)


def prefix_length(value: Opaque) -> int:
    return _network(value).prefixlen


def contains_ip(value: Opaque, other: str | Opaque) -> bool:
    if isinstance(other, str):
        try:
            return parse_ip(other) in _network(value)
        except ValueError:
            # So says the original of a text that is no address.
            raise Failure(NO_OVERLOAD) from None
    return _address(other) in _network(value)


def contains_cidr(value: Opaque, other: str | Opaque) -> bool:
    network = _network(value)
    inner = parse_cidr(other)[1] if isinstance(other, str) else _network(other)
    return (
        inner.version == network.version
        and inner.prefixlen >= network.prefixlen
        and inner.network_address in network
    )


def _address_value(address: Address) -> Opaque:
    return Opaque(IP, address, str(address))


def _network_value(address: Address, network: Network) -> Opaque:
    return Opaque(CIDR, (address, network), f"{address}/{network.prefixlen}")


def _address(value: Opaque) -> Address:
    address: Address = value.content
    return address


def _network(value: Opaque) -> Network:
    network: Network = value.content[1]
    return network


def _holds(parse: Any, text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True
