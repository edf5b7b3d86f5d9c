"""The `mco` program: finds the command's file, runs it, and turns errors into text and an exit code.

Only click is imported before a command is known, so that `mco --help` answers in under 100 ms.
Exit codes: 0 done, 1 the answer is no or something failed, 2 wrong usage; `mco plan` documents its own.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from mco.base.errors import MCOError

# name: (module, one line of help). The module has a click command named `command`.
COMMANDS = {
    "up": ("mco.cli.up", "Start everything on this machine: API server, controllers, machines."),
    "down": ("mco.cli.down", "Stop what `up` started and remove its machines."),
    "status": ("mco.cli.status", "Show pools and nodes, and why a node does not move."),
    "render": ("mco.cli.render", "Render a pool's MachineConfigs offline."),
    "plan": ("mco.cli.plan", "Show what a change would do to a node, offline."),
    "validate": ("mco.cli.validate", "List everything that is wrong in manifests, offline."),
    "bootstrap": ("mco.cli.bootstrap", "Render the first configs from manifests, before there is a cluster."),
    "prune": ("mco.cli.prune", "Remove rendered MachineConfigs that nobody needs."),
    "lab": ("mco.cli.lab", "Look into the machines that `up` started."),
    "token": ("mco.cli.token", "Make and list the tokens with which machines join."),
    "install": ("mco.cli.install", "Install the operator in a cluster, or bring it to this version."),
    "uninstall": ("mco.cli.uninstall", "Remove the operator from a cluster; nodes keep what they have."),
    "apiserver": ("mco.cli.apiserver", "Run the embedded API server alone."),
    "operator": ("mco.cli.operator", "Run the operator alone."),
    "controller": ("mco.cli.controller", "Run the controllers alone."),
    "configserver": ("mco.cli.configserver", "Run the config server alone."),
    "simulate": ("mco.cli.simulate", "Run simulated nodes against a server."),
    "daemon": ("mco.cli.daemon", "Run the node daemon."),
    "version": ("mco.cli.version", "Print the version."),
    "completion": ("mco.cli.completion", "Print a completion script for bash, zsh or fish."),
}


class LazyGroup(click.Group):
    """A group that knows the names and summaries of its commands and imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        import_module(COMMANDS["version"][0]).command.main([], standalone_mode=False)
        ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="As `mco version`."
)
def mco() -> None:
    """Manage the operating system of every node of a fleet as Kubernetes objects.

    Exit codes: 0 done, 1 the answer is no or something failed, 2 wrong usage, 130 interrupted; each command's
    --help says what that means for it.
    """


def describe(error: MCOError) -> str:
    """An error as lines for a person: the sentence, then the object and path, then what to do."""
    where = " ".join(part for part in (error.subject, error.path) if part)
    lines = [
        f"error: {error.message}",
        f"  at: {where}" if where else "",
        f"  hint: {error.hint}" if error.hint else "",
    ]
    return "\n".join(line for line in lines if line)


def main() -> Any:
    """Entry point of the program. A reader that has seen enough (head, less) is no error: click ends it."""
    try:
        mco.main(prog_name="mco", standalone_mode=False)
    except MCOError as error:
        click.echo(describe(error), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        click.echo(describe(_refused(error)), err=True)
        sys.exit(1)


def _refused(error: OSError) -> MCOError:
    """What the system says about a path or an output that somebody named."""
    return MCOError(error.strerror or str(error), path=os.fsdecode(error.filename or ""))


if __name__ == "__main__":
    main()
