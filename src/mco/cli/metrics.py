"""`--metrics-listen`: where Prometheus finds a component's metrics."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mco.cli.options import F

if TYPE_CHECKING:
    from mco.runtime.scraping import Address


class AddressType(click.ParamType["Address"]):
    """`HOST:PORT`; the host is an IP address, one of IPv6 in brackets, or left out for all of them."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        from mco.runtime.scraping import Address

        host, colon, port = str(value).rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        number = int(port) if colon and port.isascii() and port.isdigit() else -1
        if not 0 <= number <= 65535 or (host and not _is_ip(bare, 4 if bare == host else 6)):
            self.fail(f"{value!r} is not an address and port, such as 127.0.0.1:8797", param, ctx)
        return Address(bare, number)


class LoopbackType(AddressType):
    """One that nobody else reaches."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        address = super().convert(value, param, ctx)
        if not address.host or not ipaddress.ip_address(address.host).is_loopback:
            self.fail(
                f"{value!r} is not a loopback address: others could read what is told there", param, ctx
            )
        return address


def _is_ip(text: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def metrics_option(function: F) -> F:
    """Gives the command `metrics_listen`, None for nowhere."""
    return click.option(
        "--metrics-listen",
        type=LoopbackType(),
        metavar="ADDRESS:PORT",
        help="Answer Prometheus there, over plain HTTP; a loopback address. Off if left out.",
    )(function)


def secure_metrics_options(function: F) -> F:
    """Gives the command `metrics_secure_listen`, None for nowhere, and `metrics_tls`, too."""
    for option in (
        click.option(
            "--metrics-tls",
            type=click.Path(path_type=Path),
            default=Path("/etc/tls/private"),
            show_default=True,
            help="Folder with tls.crt and tls.key for that, read again when they change; a certificate that"
            " nobody signed takes their place while they are not there.",
        ),
        click.option(
            "--metrics-secure-listen",
            type=AddressType(),
            metavar="[ADDRESS]:PORT",
            help="Answer there over TLS, whoever shows a token that may `get` namespace/metrics.",
        ),
    ):
        function = option(function)
    return metrics_option(function)
