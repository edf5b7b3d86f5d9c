"""`mco up`."""

from __future__ import annotations

import click

from mco.cli.options import Seconds, instance_option


@click.command()
@instance_option("Instances with different names are separate.")
@click.option(
    "--machines", type=click.IntRange(0, 200), help="How many machines; 1, or with simulated nodes none."
)
@click.option(
    "--simulate",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="N nodes without machines, which say and decide what the daemon does.",
)
@click.option(
    "--kubernetes",
    is_flag=True,
    help="A real Kubernetes: control plane and kubelets that `make servers` builds, our payload on it.",
)
@click.option(
    "--tour", is_flag=True, help="Roll the examples over them, show the proof, leave nothing behind."
)
@click.option(
    "--directories", is_flag=True, help="Folders in place of real machines, even where those would run."
)
@click.option(
    "--settle", type=Seconds(), default=0.0, show_default=True, help="Seconds of quiet before rendering."
)
def command(
    name: str,
    machines: int | None,
    simulate: int,
    kubernetes: bool,
    tour: bool,
    directories: bool,
    settle: float,
) -> None:
    """Start everything on this machine: API server, operator, controllers, config server, and machines.

    Machines are real where this host can boot them (root, systemd-nspawn): they get their configuration from
    the config server through the real Ignition engine. `mco up` again continues where it stopped; a tour
    starts from nothing and leaves nothing.

    With --kubernetes everything runs as on any cluster, installed by `mco install`: a machine for the control
    plane's pods and as many workers as there are machines, with real kubelets.

    Exit codes: 0 everything is as it was asked for, 1 it is not, 2 wrong usage, 130 after Ctrl-C or SIGTERM.
    """
    import asyncio
    import signal
    import sys

    if tour and simulate:
        raise click.UsageError("a tour shows what is in the machines: --simulate has none")
    if kubernetes and (simulate or tour or directories or settle):
        raise click.UsageError("--kubernetes goes with --name and --machines only")
    from mco.fleet.screen import open_screen
    from mco.fleet.up import Wish, up
    from mco.runtime import logging

    logging.configure("error")
    stay = sys.stdout.isatty() or not tour
    wish = Wish(
        name=name,
        machines=machines if machines is not None else int(not simulate),
        simulate=simulate,
        kubernetes=kubernetes,
        tour=tour,
        directories=directories,
        settle=settle,
        stay=stay,
    )
    screen = open_screen(sys.stdout)

    async def run() -> bool:
        task = asyncio.current_task()
        assert task is not None

        def stop() -> None:
            # Once: a second Ctrl-C must not interrupt the cleaning up after the first.
            if task.cancelling():
                screen.say("still cleaning up")
            else:
                task.cancel()

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        return await up(wish, screen)

    try:
        good = asyncio.run(run())
    except asyncio.CancelledError:
        screen.close()
        screen.say("stopped")
        sys.exit(130)
    finally:
        screen.close()
    sys.exit(0 if good else 1)
