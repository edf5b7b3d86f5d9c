"""`mco simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mco.cli.options import kubeconfig_option, log_level_option

if TYPE_CHECKING:
    from mco.sim.script import Span


class SpanType(click.ParamType["Span"]):
    name = "seconds[-seconds]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Span:
        from mco.base.errors import InvalidInput
        from mco.sim.script import Span, parse_span

        if isinstance(value, Span):
            return value
        try:
            return parse_span(str(value))
        except InvalidInput as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)


@click.command()
@kubeconfig_option()
@click.option("--nodes", type=click.IntRange(0, 20_000), required=True, help="How many nodes.")
@click.option("--prefix", default="sim", show_default=True, help="Beginning of their names.")
@click.option("--pool", default="worker", show_default=True, help="The pool that they join.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same fates.")
@click.option("--apply", type=SpanType(), default="0", help="Seconds of an update, as 3 or 2-10.")
@click.option("--reboot", type=SpanType(), default="0", help="Seconds of a reboot.")
@click.option("--failing", type=click.FloatRange(0, 1), default=0.0, help="Share of updates that fail.")
@click.option("--failures", type=click.IntRange(1), default=1, help="How often each of those fails.")
@click.option("--brief", is_flag=True, help="Nodes are at once where they are told to be.")
@click.option("--leases", is_flag=True, help="Renew leases: nobody else reports these nodes as alive.")
@log_level_option
def command(
    kubeconfig: Path | None,
    nodes: int,
    prefix: str,
    pool: str,
    seed: int,
    apply: Span,
    reboot: Span,
    failing: float,
    failures: int,
    brief: bool,
    leases: bool,
    log_level: str,
) -> None:
    """Run simulated nodes: what the daemon says and decides, on machines that are only numbers.

    Each follows itself by a watch of its own and answers with the daemon's protocol. The nodes stay when this
    ends, and are taken over by the next run with the same names.

    Exit codes: 0 stopped by a signal, 1 it cannot run or has failed, 2 wrong usage.
    """
    import asyncio

    from mco.kube.client import Client
    from mco.kube.config import load
    from mco.runtime import logging
    from mco.runtime.clock import SystemClock
    from mco.runtime.limits import raise_file_limit
    from mco.runtime.supervise import supervise
    from mco.sim.fleet import Order, SimulatedFleet
    from mco.sim.script import Script

    logging.configure(log_level)
    script = Script(
        seed=seed, brief=brief, apply=apply, reboot=reboot, failing=failing, failures=float(failures)
    )
    order = Order(nodes=nodes, prefix=prefix, pool=pool, script=script, reports=not brief, leases=leases)

    async def run() -> None:
        async with Client(load(kubeconfig), user_agent="mco-simulate") as client:
            await supervise({"fleet": SimulatedFleet(client, order, SystemClock()).run})

    raise_file_limit()
    asyncio.run(run())
