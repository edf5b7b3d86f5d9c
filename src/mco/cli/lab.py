"""`mco lab`: a look into the machines that `mco up` runs, and a hand at their power switch."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import click

from mco.cli.options import instance_option, output_option
from mco.cli.table import table
from mco.lab import launch, record

_instance = instance_option(variable="instance")
_machine = click.argument("machine", metavar="NAME")


@click.group()
def command() -> None:
    """Look into the machines that `up` started.

    Exit codes: 0 done, 1 there is no such machine or it does not run, 2 wrong usage; `exec` and `shell`
    answer with the exit code of what they ran.
    """


@command.command("list")
@_instance
@output_option("text", "json", "yaml")
def list_machines(instance: str, output: str) -> None:
    """List the machines with their state, boots and address."""
    machines = record.read_all(instance)
    rows: list[dict[str, object]] = [
        {"name": each.name, "state": each.state.value, "boots": each.boots, "address": each.address}
        for each in machines
    ]
    if output == "text":
        _print_table(rows)
    elif output == "json":
        import json

        click.echo(json.dumps(rows, indent=4))
    else:
        import yaml

        click.echo(yaml.safe_dump(rows, sort_keys=False), nl=False)


@command.command("exec", context_settings={"ignore_unknown_options": True})
@_instance
@_machine
@click.argument("argv", metavar="-- COMMAND [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_in(instance: str, machine: str, argv: tuple[str, ...]) -> None:
    """Run a command in a machine; its exit code is this command's.

    Exit code 1 also when there is no such machine or it does not run, 2 for wrong usage.
    """
    _enter(instance, machine, argv)


@command.command()
@_instance
@_machine
def shell(instance: str, machine: str) -> None:
    """Open a shell in a machine."""
    _enter(instance, machine, ("/bin/bash", "--login"))


@command.command()
@_instance
@_machine
@click.option("-f", "--follow", is_flag=True, help="Go on with what the machine says next.")
@click.option("--ignition", is_flag=True, help="Of the Ignition engine at first boot, not the console.")
def logs(instance: str, machine: str, follow: bool, ignition: bool) -> None:
    """Print what a machine has said on its console, over all its boots."""
    found = record.read(instance, machine)
    path = Path(found.ignition_log if ignition else found.console)
    if follow:
        sys.stdout.flush()
        os.execvp("tail", ["tail", "-n", "+1", "-F", str(path)])
    if path.exists():
        with path.open("rb") as log:
            shutil.copyfileobj(log, sys.stdout.buffer)


@command.command()
@_instance
@_machine
def crash(instance: str, machine: str) -> None:
    """Kill a machine (kill -9 of everything in it), as a power failure would; it starts again."""
    record.read(instance, machine).kill()
    click.echo(f"machine/{machine} crashed")


def _enter(instance: str, machine: str, argv: tuple[str, ...]) -> NoReturn:
    leader = record.read(instance, machine).leader()
    terminal = os.environ.get("TERM", "") if sys.stdin.isatty() else ""
    command_line = [*launch.enter(leader, terminal), *argv]
    os.execvp(command_line[0], command_line)


def _print_table(rows: list[dict[str, object]]) -> None:
    if not rows:
        click.echo("No machines found.", err=True)
        return
    header = [key.upper() for key in rows[0]]
    click.echo(table(header, [[str(value) for value in row.values()] for row in rows]))
