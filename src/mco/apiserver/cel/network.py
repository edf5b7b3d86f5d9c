"""Addresses, networks and URLs of the Kubernetes CEL library.

A value of a type that CEL itself does not have is a map with one key, the name of the type."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

Opaque = dict[str, Any]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

IP, CIDR, URL = "net.IP", "net.CIDR", "kubernetes.URL"


def content(value: Opaque, kind: str) -> str:
    """What is in a value of that type. Raises ValueError for a value of another one."""
    if kind not in value:
        raise ValueError("no such overload")
    return str(value[kind])


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
    address, slash, length = text.partition("/")
    plain = length.isascii() and length.isdigit() and (length == "0" or not length.startswith("0"))
    try:
        if not slash or not plain:
            raise ValueError
        return parse_ip(address), ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        if "IPv4-mapped" in str(error):
            raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed') from None
        raise ValueError(
            f'network address parse error during conversion from string: netip.ParsePrefix("{text}"): '
            "not a prefix"
        ) from None


def is_ip(text: str) -> bool:
    return _holds(parse_ip, text)


def is_cidr(text: str) -> bool:
    return _holds(parse_cidr, text)


def ip(value: str | Opaque) -> Opaque:
    """From text, or the address of a network."""
    if isinstance(value, str):
        return {IP: str(parse_ip(value))}
    return {IP: str(parse_cidr(content(value, CIDR))[0])}


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
    address, network = parse_cidr(text)
    return {CIDR: f"{address}/{network.prefixlen}"}


def masked(value: Opaque) -> Opaque:
    return {CIDR: str(_network(value))}


def prefix_length(value: Opaque) -> int:
    return _network(value).prefixlen


def contains_ip(value: Opaque, other: str | Opaque) -> bool:
    address = parse_ip(other) if isinstance(other, str) else _address(other)
    return address in _network(value)


def contains_cidr(value: Opaque, other: str | Opaque) -> bool:
    network = _network(value)
    inner = parse_cidr(other)[1] if isinstance(other, str) else _network(other)
    return (
        inner.version == network.version
        and inner.prefixlen >= network.prefixlen
        and inner.network_address in network
    )


def text_of(value: Opaque) -> str:
    return next((str(value[kind]) for kind in (IP, CIDR) if kind in value), "")


def url(text: str) -> Opaque:
    _split(text)
    return {URL: text}


def is_url(text: str) -> bool:
    return _holds(_split, text)


def scheme(value: Opaque) -> str:
    return str(_split(content(value, URL)).scheme)


def host(value: Opaque) -> str:
    return str(_split(content(value, URL)).netloc.rpartition("@")[2])


def hostname(value: Opaque) -> str:
    name, bracket, _ = host(value).removeprefix("[").partition("]")
    return name if bracket else name.partition(":")[0]


def port(value: Opaque) -> str:
    tail = host(value).rpartition("]")[2]
    return tail.rpartition(":")[2] if ":" in tail else ""


def escaped_path(value: Opaque) -> str:
    return quote(unquote(_split(content(value, URL)).path), safe="/$&+,:;=@!'()*~-._")


def query(value: Opaque) -> dict[str, list[str]]:
    return parse_qs(_split(content(value, URL)).query, keep_blank_values=True)


def _split(text: str) -> Any:
    """An absolute URI, or an absolute path (as in the first line of an HTTP request)."""
    problem = ""
    parts = urlsplit(text)
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in text):
        problem = "net/url: invalid control character in URL"
    elif not text:
        problem = "empty url"
    elif not parts.scheme and not text.startswith("/"):
        problem = "invalid URI for request"
    elif " " in parts.netloc or "\\" in parts.netloc:
        problem = f'invalid character "{" " if " " in parts.netloc else chr(92)}" in host name'
    elif (tail := parts.netloc.rpartition("]")[2].partition(":")[2]) and not tail.isdigit():
        problem = f'invalid port ":{tail}" after host'
    if problem:
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": {problem}')
    return parts


def _address(value: Opaque) -> Address:
    return ipaddress.ip_address(content(value, IP))


def _network(value: Opaque) -> Network:
    return ipaddress.ip_network(content(value, CIDR), strict=False)


def _holds(parse: Any, text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True
