"""Which proxy leads to the API server, by the environment's usual variables (as Go's client reads them)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_for(server: str, environ: Mapping[str, str]) -> str:
    """The URL in HTTPS_PROXY or HTTP_PROXY (either case) for `server`, or an empty text: none is set, the
    host is this machine, or NO_PROXY covers it."""
    url = urlsplit(server)
    host = (url.hostname or "").lower()
    proxy = _variable(environ, f"{url.scheme}_proxy")
    if not proxy or _is_this_machine(host):
        return ""
    port = url.port or (443 if url.scheme == "https" else 80)
    if any(_covers(entry.strip().lower(), host, port) for entry in _variable(environ, "no_proxy").split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name, "")


def _is_this_machine(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of NO_PROXY (`*`, a network, an address or a domain, the last two with a port or not)
    means this host. `.example.com` means what is below it, `example.com` also itself."""
    if not entry:
        return False
    if entry == "*":
        return True
    address = _address(host)
    if "/" in entry:
        return address is not None and _contains(entry, address)
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdigit() and _address(entry) is None:
        if int(wanted) != port:
            return False
        entry = name.strip("[]")
    if address is not None:
        return _address(entry) == address
    return host == entry or host.endswith(entry if entry.startswith(".") else f".{entry.removeprefix('*.')}")


def _contains(network: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
