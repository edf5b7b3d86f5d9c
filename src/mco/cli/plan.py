"""`mco plan`: what a change from one rendered config to another would be for a node."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from mco.cli.options import output_option

if TYPE_CHECKING:
    from mco.api.machineconfig import MachineConfig
    from mco.api.machineconfiguration import MachineConfiguration
    from mco.api.manifests import Manifests
    from mco.plan.preview.preview import Preview

_DIFF_LINES = 60
_BAD_INPUT = 2


@click.command("plan")
@click.option(
    "--from",
    "old",
    required=True,
    metavar="FILE",
    help="The rendered MachineConfig that the node has; - is standard input.",
)
@click.option(
    "--to",
    "new",
    required=True,
    metavar="FILE",
    help="The rendered MachineConfig that it would get; - is standard input.",
)
@click.option(
    "--policy",
    metavar="FILE",
    help="A MachineConfiguration with node disruption policies; without one the built-in policies count.",
)
@click.option("--full", is_flag=True, help=f"Show more than {_DIFF_LINES} lines of a diff.")
@output_option("text", "json")
def command(old: str, new: str, policy: str | None, full: bool, output: str) -> None:
    """Show what a change would do to a node, offline.

    For two rendered MachineConfigs: what differs, with a diff of text files, whether a running node can
    follow, which services it would reload or restart, whether it would be drained or rebooted, and why.
    Contents that look secret are never shown.

    Exit codes: 0 nothing to do, 1 changes, 2 a node cannot follow or the input is wrong.
    """
    from mco.base.errors import MCOError
    from mco.cli.manifests import complain

    try:
        found = _preview(old, new, policy)
    except MCOError as error:
        complain(error)
        sys.exit(_BAD_INPUT)
    click.echo(_json(found) if output == "json" else _text(found, full), nl=False)
    sys.exit(found.exit_code)


def _preview(old: str, new: str, policy: str | None) -> Preview:
    from mco.cli.manifests import STDIN
    from mco.plan.node import policies
    from mco.plan.preview.preview import preview

    if [old, new, policy].count(STDIN) > 1:
        raise click.UsageError("only one of --from, --to and --policy can be standard input")
    before, after = _machine_config(old), _machine_config(new)
    if policy is None:
        return preview(before, after, policies.DEFAULT)
    configuration = _configuration(policy)
    overrides = configuration.spec.irreconcilable_validation_overrides.storage
    return preview(before, after, policies.known(configuration), overrides)


def _machine_config(path: str) -> MachineConfig:
    from mco.base.errors import InvalidInput

    found = _readable(path).machine_configs
    if len(found) == 1:
        return found[0]
    if not found:
        hint = "save a rendered one: kubectl get machineconfig NAME -o yaml"
        raise InvalidInput("no MachineConfig in it", subject=path, hint=hint)
    names = ", ".join(config.name for config in found)
    raise InvalidInput(
        f"{len(found)} MachineConfigs in it: {names}",
        subject=path,
        hint="leave only the one that is meant; mco render makes one of a pool's MachineConfigs",
    )


def _configuration(path: str) -> MachineConfiguration:
    from mco.api import names
    from mco.base.errors import InvalidInput
    from mco.cli.manifests import complain
    from mco.plan.node import policyrules

    version = f"{names.OPERATOR_GROUP}/{names.VERSION}"
    found = [
        value
        for value in _readable(path).others
        if value["kind"] == policyrules.KIND and value["apiVersion"] == version
    ]
    if len(found) != 1:
        raise InvalidInput(
            f"{len(found) or 'no'} {policyrules.KIND} of {version} in it, expected one",
            subject=path,
            hint="save the cluster's: kubectl get machineconfiguration cluster -o yaml",
        )
    if wrong := policyrules.problems(found[0]):
        for problem in wrong[:-1]:
            complain(problem)
        raise wrong[-1]
    return policyrules.configuration(found[0])


def _readable(path: str) -> Manifests:
    from mco.base.errors import InvalidInput
    from mco.cli.manifests import load, report_unreadable

    manifests = load((path,), recursive=False)
    if report_unreadable(manifests.findings):
        raise InvalidInput("the file cannot be used as it stands", subject=path)
    return manifests


def _json(found: Preview) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"


def _text(found: Preview, full: bool) -> str:
    from mco.plan.preview.text import Writer

    return Writer(_paint, None if full else _DIFF_LINES).text(found)


def _paint(text: str, colour: str) -> str:
    """Only for a terminal, and not where NO_COLOR is set to anything."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, bold=True) if colour == "bold" else click.style(text, fg=colour)
