"""A bridge and a subnet per instance.

The host has the first address of the subnet, which is where machines reach the servers of `mco up`; each
machine has a static one. Nothing is forwarded, so no firewall rule is needed.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from mco.base.errors import Conflict, HostError
from mco.lab import paths
from mco.lab.commands import run
from mco.lab.locks import Lock

Subnet = ipaddress.IPv4Network

# Private (RFC 1918) and unusual: 256 subnets with room for 245 machines each.
_POOL = ipaddress.IPv4Network("10.213.0.0/16")
_FIRST_MACHINE = 10
MACHINES = 245


class Network(msgspec.Struct, frozen=True, kw_only=True):
    bridge: str
    subnet: str  # CIDR

    @property
    def host_address(self) -> str:
        return str(ipaddress.IPv4Network(self.subnet)[1])

    def machine_address(self, number: int) -> str:
        """`number` counts from 0."""
        if number >= MACHINES:
            raise Conflict(
                f"an instance has room for {MACHINES} machines", hint="start another instance: --name"
            )
        return str(ipaddress.IPv4Network(self.subnet)[_FIRST_MACHINE + number])

    def unit(self, number: int) -> str:
        """The systemd-networkd file of a machine's only interface."""
        length = ipaddress.IPv4Network(self.subnet).prefixlen
        return (
            "[Match]\nName=host0\n\n"
            "[Network]\n"
            f"Address={self.machine_address(number)}/{length}\n"
            f"Gateway={self.host_address}\n"
            # Duplicate address detection and router solicitation would only delay `network-online.target`.
            "LinkLocalAddressing=no\nIPv6AcceptRA=no\nDHCP=no\n"
        )


def bridge_name(tag: str) -> str:
    return f"mcolab-{tag}"


def create(bridge: str, wanted: str, reserved: Collection[str]) -> Network:
    """Makes the bridge with a subnet that nothing on this host uses and no kept instance has (`reserved`).
    `wanted` is the subnet that this instance had before, and whose addresses its machines know, or empty.
    Raises Conflict if that one is taken, or none is free."""
    with Lock(paths.RUN / "network.lock", removes=True):
        delete(bridge)
        subnet = _choose(wanted, [Subnet(other) for other in reserved])
        network = Network(bridge=bridge, subnet=str(subnet))
        run(["ip", "link", "add", bridge, "type", "bridge"])
        run(["ip", "address", "add", f"{network.host_address}/{subnet.prefixlen}", "dev", bridge])
        run(["ip", "link", "set", bridge, "up"])
    with contextlib.suppress(OSError):  # not empty: others are there
        paths.RUN.rmdir()
    return network


def delete(bridge: str) -> None:
    """Removes the bridge and what is plugged into it; idempotent."""
    for port in ports(bridge):
        delete_link(port)
    delete_link(bridge)


def ports(bridge: str) -> list[str]:
    folder = Path("/sys/class/net", bridge, "brif")
    with contextlib.suppress(FileNotFoundError):
        return [entry.name for entry in folder.iterdir()]
    return []


def delete_link(name: str) -> None:
    """A dead machine's interface goes with its network namespace, a moment later: whoever needs the name now
    deletes it, and both may happen at once."""
    if not Path("/sys/class/net", name).exists():
        return
    try:
        run(["ip", "link", "delete", name])
    except HostError:
        if Path("/sys/class/net", name).exists():
            raise


def _choose(wanted: str, reserved: list[Subnet]) -> Subnet:
    used = list(_used())
    if wanted:
        subnet = Subnet(wanted)
        if any(subnet.overlaps(other) for other in used):
            raise Conflict(
                f"the instance's subnet {wanted} is in use on this host by now",
                hint="remove the other interface or route, or start anew: mco down --purge",
            )
        return subnet
    for candidate in _POOL.subnets(new_prefix=24):
        if not any(candidate.overlaps(other) for other in (*used, *reserved)):
            return candidate
    raise Conflict(f"no free subnet in {_POOL}", hint="stop an instance: mco down --name NAME")


def _used() -> Iterator[Subnet]:
    for link in _ip("address"):
        for address in link.get("addr_info", ()):
            yield ipaddress.IPv4Interface(f"{address['local']}/{address['prefixlen']}").network
    for route in _ip("route", "show", "table", "all"):
        if (destination := route.get("dst", "default")) != "default" and route.get("type") != "broadcast":
            yield Subnet(destination, strict=False)


def _ip(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(run(["ip", "-json", "-4", *arguments]) or b"[]")
    return found
