"""`mco install`: the payload, applied to a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mco.cli.options import Seconds, kubeconfig_option

if TYPE_CHECKING:
    from mco.kube.client import Client
    from mco.payload.apply import Step
    from mco.payload.graph import Mode
    from mco.payload.install import Installation
    from mco.payload.manifest import Manifest

_MODES = ("auto", "initializing", "updating", "reconciling")


@click.command()
@kubeconfig_option()
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--wait", is_flag=True, help="Return when the operator runs and reports this version.")
@click.option(
    "--timeout",
    type=Seconds(),
    default=1800.0,
    show_default=True,
    help="Seconds for --wait, and for the operator of an update to report its version.",
)
@click.option(
    "--manifests",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the payload to apply, in place of this program's own.",
)
@click.option(
    "--mode",
    type=click.Choice(_MODES),
    default="auto",
    show_default=True,
    help="In which order and how patiently; as the cluster's state asks for it.",
)
@click.option("--image", default="", help="The image of all components; the one that the payload names.")
@click.option(
    "--adopt",
    is_flag=True,
    help="Nodes without a role get one: show which, and what their pools would change on them. With --yes"
    " install and do it.",
)
@click.option("--yes", "--confirm", "confirmed", is_flag=True, help="Do what --adopt shows.")
def command(
    kubeconfig: Path | None,
    dry_run: bool,
    wait: bool,
    timeout: float,
    manifests: Path | None,
    mode: str,
    image: str,
    adopt: bool,
    confirmed: bool,
) -> None:
    """Install the operator in a cluster, or bring it to this version.

    Applies manifests in the order of their run-levels and goes on where an interrupted run stopped. While
    another version is installed, nothing that removes permissions is applied before the new operator has
    reported its version. Refuses beside another machine config operator.

    Exit codes: 0 everything is applied, 1 it is not, 2 wrong usage, 130 interrupted; the next run goes on.
    """
    if confirmed and not adopt:
        raise click.UsageError("--yes confirms what --adopt shows")
    import asyncio

    from mco.cli import adopting
    from mco.kube.client import Client
    from mco.kube.config import load
    from mco.payload.graph import Mode
    from mco.payload.image import NAME
    from mco.payload.install import read_payload
    from mco.runtime import logging

    logging.configure("error")
    payload = read_payload(manifests, image or NAME)
    wanted = None if mode == "auto" else Mode(mode.capitalize())
    cluster = load(kubeconfig)

    async def run() -> bool:
        async with Client(cluster, user_agent="mco-install") as client:
            installation = await _planned(client, payload, wanted)
            if adopt:
                await adopting.show(client)
            if adopt and not confirmed:
                return True
            if dry_run:
                await _foretell(client, installation)
                return True
            done = await _apply(client, installation, wait=wait, timeout=timeout)
            if done and adopt:
                await adopting.adopt(client)
            return done

    sys.exit(0 if asyncio.run(run()) else 1)


async def _planned(client: Client, payload: list[Manifest], mode: Mode | None) -> Installation:
    from mco.kube.wholes import Wholes
    from mco.payload.install import plan
    from mco.runtime.clock import SystemClock

    return await plan(payload, Wholes(client), SystemClock(), mode)


async def _foretell(client: Client, installation: Installation) -> None:
    from mco.kube.wholes import Wholes
    from mco.payload.install import outcome

    objects = Wholes(client)
    for manifest in installation.manifests:
        found = await outcome(manifest, objects, installation.mode)
        click.echo(f"{named(manifest)} {found} (dry run)")
    for manifest, reason in installation.left_out:
        click.echo(f"{named(manifest)} left out: {reason}", err=True)


async def _apply(client: Client, installation: Installation, *, wait: bool, timeout: float) -> bool:
    """Whether everything is applied; what is not has been said."""
    from mco.kube.wholes import Wholes
    from mco.payload.apply import GateClosed, Pace, PayloadError, apply
    from mco.payload.graph import Mode
    from mco.payload.rollout import settled
    from mco.runtime.clock import SystemClock

    objects, clock, mode = Wholes(client), SystemClock(), installation.mode
    # Nothing comes behind the gate but in an update.
    gate = timeout if mode is Mode.UPDATING else 0.0
    try:
        await apply(installation.manifests, objects, mode, clock, _tell, pace=Pace(gate=gate))
    except PayloadError as error:
        behind = any(not isinstance(cause, GateClosed) for _, cause in error.errors)
        if behind or mode is Mode.UPDATING:
            click.echo(f"error: {error.message}", err=True)
            click.echo("  hint: run the same command again; what is applied stays applied", err=True)
            return False
    if wait:
        await settled(installation.manifests, objects, clock, _waiting, timeout)
    return True


def _tell(step: Step) -> None:
    from mco.payload.apply import Outcome

    if step.outcome is Outcome.WAITING:
        _waiting(f"{named(step.manifest)}: {step.message}")
    elif step.outcome is not Outcome.FAILED:
        click.echo(f"{named(step.manifest)} {step.outcome}")


def _waiting(what: str) -> None:
    click.echo(f"waiting: {what}", err=True)


def named(manifest: Manifest) -> str:
    """As kubectl writes it."""
    kind = ".".join(filter(None, (manifest.kind.lower(), manifest.group)))
    return f"{kind}/{manifest.identity.name}"
