"""What a machine gets as its user data: where its config is, and whom to trust there (spec/operator.md 1.6,
1.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mco.ignition import dataurl

PORT = 22623
_ALWAYS_BY_ADDRESS = ("BareMetal", "OpenStack", "oVirt")
_BY_ADDRESS_IF_ANY = "VSphere"


def user_data(pool: str, infrastructure: Mapping[str, Any], authorities: bytes) -> str:
    """An Ignition config; `authorities` are PEM."""
    tls = {"certificateAuthorities": [{"source": dataurl.encode_base64(authorities, "text/plain")}]}
    source = f"https://{host(infrastructure)}:{PORT}/config/{pool}"
    document = {"config": {"merge": [{"source": source}]}, "security": {"tls": tls}, "version": "3.5.0"}
    return msgspec.json.encode({"ignition": document}).decode()


def host(infrastructure: Mapping[str, Any]) -> str:
    """The first address of the API for machines where the platform has one, else the host of its URL. An
    IPv6 address stands in brackets wherever it comes from."""
    status = infrastructure.get("status") or {}
    platform = status.get("platformStatus") or {}
    kind = platform.get("type") or ""
    if kind in (*_ALWAYS_BY_ADDRESS, _BY_ADDRESS_IF_ANY):
        addresses = (platform.get(kind.lower()) or {}).get("apiServerInternalIPs") or ()
        if addresses:
            return _bracketed(addresses[0])
    return _bracketed(urlsplit(status.get("apiServerInternalURI") or "").hostname or "")


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
