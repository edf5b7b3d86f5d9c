"""The addresses of `--metrics-listen` and `--metrics-secure-listen`."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from mco.cli.main import mco
from mco.cli.metrics import AddressType, LoopbackType
from mco.runtime.scraping import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8797", Address("127.0.0.1", 8797)),
        ("[::1]:8797", Address("::1", 8797)),
        ("127.0.0.9:0", Address("127.0.0.9", 0)),
    ],
)
def test_addresses_of_this_machine_alone(text: str, address: Address) -> None:
    for kind in (LoopbackType(), AddressType()):
        assert kind.convert(text, None, None) == address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":9001", Address("", 9001)),
        ("0.0.0.0:9001", Address("0.0.0.0", 9001)),
        ("[::]:9001", Address("::", 9001)),
        ("192.0.2.7:9001", Address("192.0.2.7", 9001)),
    ],
)
def test_others_need_tls(text: str, address: Address) -> None:
    assert AddressType().convert(text, None, None) == address
    with pytest.raises(click.BadParameter, match="is not a loopback address"):
        LoopbackType().convert(text, None, None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "8797", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1"),
        *("localhost:8797", "::1:8797", "[127.0.0.1]:8797", "[::1]", "[]:8797", "127.0.0.1:١"),
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not an address and port"):
        AddressType().convert(text, None, None)


def test_a_daemon_that_cannot_ask_who_reads_does_not_listen() -> None:
    done = CliRunner().invoke(mco, ["daemon", "start", "--metrics-secure-listen=:0"])
    assert done.exit_code == 2
    assert "--metrics-secure-listen asks the API server who may read" in done.output
