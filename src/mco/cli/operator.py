"""`mco operator`."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from mco.cli.election import Election, election_options
from mco.cli.operatorbootstrap import bootstrap
from mco.cli.options import kubeconfig_option, log_level_option


@click.group(invoke_without_command=True)
@kubeconfig_option()
@click.option(
    "--apiserver-url",
    default="",
    help="The API server's URL as machines reach it; found in the cluster if left out.",
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="PEM bundle that machines trust the API server by; goes with --apiserver-url.",
)
@click.option(
    "--images-json",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the image that the other components run; without it, somebody else runs them.",
)
@election_options
@log_level_option
@click.pass_context
def command(
    context: click.Context,
    kubeconfig: Path | None,
    apiserver_url: str,
    ca: Path | None,
    images_json: Path | None,
    election: Election,
    log_level: str,
) -> None:
    """Run the operator: CRDs, built-in pools, configuration, one MachineConfigNode per Node, and in a cluster
    the other components. With a command, that is done instead.

    Exit codes: 0 stopped by a signal, 1 it cannot run or has failed, 2 wrong usage.
    """
    if context.invoked_subcommand:
        _refuse_options(context)
        return
    if bool(apiserver_url) != (ca is not None):
        raise click.UsageError("--apiserver-url and --ca belong together")

    import asyncio

    from mco.api import names
    from mco.kube.client import Client
    from mco.kube.config import load
    from mco.operator import process
    from mco.operator.endpoint import Endpoint, discover
    from mco.operator.objects import Installation
    from mco.payload import operands
    from mco.plan.installation.images import OURS
    from mco.runtime import logging, version
    from mco.runtime.clock import SystemClock
    from mco.runtime.supervise import supervise

    logging.configure(log_level)
    cluster = load(kubeconfig)
    clock = SystemClock()
    images = operands.read_images(images_json) if images_json else {}
    image = images.get(OURS, "")
    given = Endpoint(server=apiserver_url, authorities=ca.read_bytes()) if ca else None

    async def work(client: Client) -> None:
        endpoint = given or await discover(client, cluster)
        installation = Installation(
            server=endpoint.server,
            ca=endpoint.authorities,
            version=version.RAW,
            commit=version.commit(),
            image=image,
            other_images=images,
        )
        setting = operands.Setting(image=image, server=endpoint.server)
        await process.run(client, installation, clock, operands.load(setting) if image else ())

    async def run() -> None:
        async with Client(cluster, user_agent="mco-operator") as client:
            await supervise({"operator": election.part(client, names.OPERATOR_LEASE, work, clock)})

    asyncio.run(run())


command.add_command(bootstrap)


def _refuse_options(context: click.Context) -> None:
    """They would be ignored without a word."""
    given = [
        param
        for param in context.command.params
        if param.name and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        text = f"{given[0].opts[0]} is not an option of this command; its own stand behind it"
        raise click.UsageError(text, context)
