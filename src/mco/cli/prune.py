"""`mco prune`: removes rendered configs that nobody needs, by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from mco.cli.limits import limit_options
from mco.cli.options import F, instance_option, kubeconfig_option

if TYPE_CHECKING:
    from mco.api.machineconfig import MachineConfig
    from mco.kube.client import Client
    from mco.plan.pool.prune import Decision, Limits
    from mco.plan.pool.uses import Reasons

T = TypeVar("T")

_SHOWN = 3
"""So many nodes, pools or builds are named with a reason."""


def cluster_options(function: F) -> F:
    return instance_option()(kubeconfig_option("Ask this cluster instead.")(function))


def pool_option(function: F) -> F:
    return click.option("--pool-name", "pool", default="", help="Only the configs of this pool.")(function)


@click.group()
def command() -> None:
    """Remove what has piled up.

    Exit codes: 0 done, 1 the API server refuses or does not answer, 2 wrong usage.
    """


@command.group(invoke_without_command=True)
@pool_option
@click.option("--count", type=click.IntRange(min=1), help="Remove so many at most, the oldest first.")
@click.option("--confirm", is_flag=True, help="Remove them; without, only say what would be removed.")
@limit_options
@cluster_options
@click.pass_context
def rendered(
    ctx: click.Context,
    pool: str,
    count: int | None,
    confirm: bool,
    keep_served: float,
    keep_young: float,
    keep_newest: int,
    name: str,
    kubeconfig: Path | None,
) -> None:
    """Remove rendered MachineConfigs that nobody needs, the oldest first.

    Says why each of the others stays. Without --confirm nothing is changed.
    """
    if ctx.invoked_subcommand is not None:
        return
    limits = _limits(keep_served, keep_young, keep_newest)

    async def work(client: Client) -> None:
        decision, configs = await _decide(client, limits)
        if not confirm:
            click.echo("Dry run enabled - no modifications will be made. Add --confirm to remove configs.")
        wanted = [config for config in decision.unused if not pool or _pool(config) == pool]
        for config in wanted[:count]:
            await _remove(client, config, confirm)
        for config in _of_pool(configs, pool):
            if reasons := decision.reasons.get(config.name):
                click.echo(f"keeping rendered MachineConfig {config.name}: {_why(reasons)}")
        if left := wanted[count:] if count else []:
            click.echo(f"{len(left)} more could be removed")

    _run(name, kubeconfig, work)


@rendered.command("list")
@pool_option
@click.option("--in-use", is_flag=True, help="Only those that are in use.")
@limit_options
@cluster_options
def list_(
    pool: str,
    in_use: bool,
    keep_served: float,
    keep_young: float,
    keep_newest: int,
    name: str,
    kubeconfig: Path | None,
) -> None:
    """Show the rendered MachineConfigs by pool, the oldest first, and why each one stays."""
    from mco.plan.pool import uses

    limits = _limits(keep_served, keep_young, keep_newest)
    decision, configs = _run(name, kubeconfig, lambda client: _decide(client, limits))
    by_pool: dict[str, list[str]] = {}
    for config in _of_pool(configs, pool):
        reasons = decision.reasons.get(config.name, {})
        used = uses.in_use(reasons)
        if in_use and not used:
            continue
        line = (
            f"{config.name} -- {config.metadata.creation_timestamp} (Currently in use: {str(used).lower()})"
        )
        by_pool.setdefault(_pool(config), []).append(f"{line}: {_why(reasons)}" if reasons else line)
    click.echo("\n\n".join("\n".join([found, *lines]) for found, lines in sorted(by_pool.items())))


async def _remove(client: Client, config: MachineConfig, confirm: bool) -> None:
    from mco.api.resources import MACHINE_CONFIGS
    from mco.base.errors import Conflict, InvalidInput, NotFound

    click.echo(f"{'' if confirm else 'dry-run '}deleting rendered MachineConfig {config.name}")
    if not confirm:
        return
    metadata = config.metadata
    try:
        await client.delete(
            MACHINE_CONFIGS, config.name, uid=metadata.uid, resource_version=metadata.resource_version
        )
    except NotFound:
        return
    except (Conflict, InvalidInput) as error:
        # It has just changed, or come into use.
        click.echo(f"keeping rendered MachineConfig {config.name}: {error.message}")


async def _decide(client: Client, limits: Limits) -> tuple[Decision, list[MachineConfig]]:
    from mco.api.resources import MACHINE_CONFIGS
    from mco.controllers.needs import served, users
    from mco.plan.pool.prune import Facts, decide
    from mco.runtime.clock import SystemClock

    configs = (await client.list(MACHINE_CONFIGS)).items
    facts = Facts(configs=configs, users=await users(client), served=await served(client))
    return decide(facts, limits, client.server_time or SystemClock().now()), configs


def _of_pool(configs: Iterable[MachineConfig], pool: str) -> list[MachineConfig]:
    from mco.plan.pool.prune import age

    rendered = (config for config in configs if _pool(config) and pool in ("", _pool(config)))
    return sorted(rendered, key=age)


def _pool(config: MachineConfig) -> str:
    from mco.plan.pool.prune import pool_of

    return pool_of(config)


def _why(reasons: Reasons) -> str:
    """`PoolSpec (worker), NodeCurrent (w1, w2, w3 and 4 more)`."""
    return ", ".join(f"{why}{_by(names)}" for why, names in reasons.items())


def _by(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    more = len(names) - _SHOWN
    return f" ({', '.join(names[:_SHOWN])}{f' and {more} more' if more > 0 else ''})"


def _limits(served: float, young: float, newest: int) -> Limits:
    from mco.plan.pool.prune import Limits

    return Limits(served=served, grace=young, newest=newest)


def _run(name: str, kubeconfig: Path | None, work: Callable[[Client], Awaitable[T]]) -> T:
    import asyncio

    from mco.fleet import running
    from mco.kube.client import Client
    from mco.kube.config import load

    path = kubeconfig or running.kubeconfig(name)

    async def connected() -> T:
        async with Client(load(path), user_agent="mco-prune") as client:
            return await work(client)

    return asyncio.run(connected())
