"""`--metrics-listen`: where Prometheus finds a component's metrics."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from mco.runtime.scraping import Address

F = TypeVar("F", bound=Callable[..., Any])


class AddressType(click.ParamType["Address"]):
    """`HOST:PORT`; the host is an IP address, one of IPv6 in brackets."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        from mco.runtime.scraping import Address

        host, _, port = str(value).rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        try:
            ip = ipaddress.ip_address(bare)
            number = int(port) if port.isascii() and port.isdigit() else -1
        except ValueError:
            self.fail(f"{value!r} is not an address and port, such as 127.0.0.1:8797", param, ctx)
        if not 0 <= number <= 65535 or (ip.version == 6) != (bare != host):
            self.fail(f"{value!r} is not an address and port, such as 127.0.0.1:8797", param, ctx)
        return Address(bare, number)


class LoopbackType(AddressType):
    """One that nobody else reaches."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        address = super().convert(value, param, ctx)
        if not ipaddress.ip_address(address.host).is_loopback:
            self.fail(
                f"{value!r} is not a loopback address: others could read what is told there", param, ctx
            )
        return address


def metrics_option(function: F) -> F:
    """Gives the command `metrics_listen`, None for nowhere."""
    return click.option(
        "--metrics-listen",
        type=LoopbackType(),
        metavar="ADDRESS:PORT",
        help="Answer Prometheus there, over plain HTTP; a loopback address. Off if left out.",
    )(function)
