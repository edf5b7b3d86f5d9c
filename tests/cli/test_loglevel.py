"""`--log-level`, and the original's `--v` beside it; what the operator hands to the config server."""

from __future__ import annotations

import ssl

import click
import pytest

from mco.api import tlsprofile
from mco.cli.configserver import start
from mco.cli.controller import command
from mco.configserver.tls import INTERMEDIATE, Profile, profile
from mco.payload import operands
from mco.payload.source.metadata import SERVER


@pytest.mark.parametrize(
    ("argv", "level"),
    [
        ([], "info"),
        (["--v=2"], "info"),
        (["--v=4"], "debug"),
        (["--v", "8"], "debug"),
        (["--v=4", "--log-level=error"], "error"),
    ],
)
def test_levels(argv: list[str], level: str) -> None:
    assert command.make_context("controller", list(argv)).params["log_level"] == level


def test_a_verbosity_that_is_none() -> None:
    with pytest.raises(click.BadParameter):
        command.make_context("controller", ["--v=loud"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Old", Profile()),
        ("Intermediate", Profile()),
        ("Modern", Profile(minimum=ssl.TLSVersion.TLSv1_3)),
    ],
)
def test_the_config_server_takes_what_the_operator_hands_it(name: str, expected: Profile) -> None:
    """Of old profiles the safe part."""
    found = tlsprofile.profile({"spec": {"tlsSecurityProfile": {"type": name}}})
    given = parsed(operands.Live(verbosity=4, tls=found))
    assert profile(given["tls_cipher_suites"].split(","), given["tls_min_version"]) == expected
    assert given["log_level"] == "debug"
    assert given["apiserver_url"] == "https://api.example:6443"


def test_a_custom_profile() -> None:
    name = "ECDHE-RSA-AES256-GCM-SHA384"
    custom = {"type": "Custom", "custom": {"ciphers": [name], "minTLSVersion": "VersionTLS12"}}
    found = tlsprofile.profile({"spec": {"tlsSecurityProfile": custom}})
    given = parsed(operands.Live(verbosity=2, tls=found))
    assert name in INTERMEDIATE.values()
    assert profile(given["tls_cipher_suites"].split(","), given["tls_min_version"]) == Profile((name,))


def parsed(live: operands.Live) -> dict[str, str]:
    setting = operands.Setting(image="example/mco:1", server="https://api.example:6443")
    (server,) = [each for each in operands.load(setting) if each.identity.name == SERVER]
    (container,) = operands.adjusted(server, live).body["spec"]["template"]["spec"]["containers"]
    assert container["args"][:2] == ["configserver", "start"]
    return start.make_context("start", container["args"][2:]).params
