"""`mco token`: the tokens with which machines ask for their config and join."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mco.cli.options import F, instance_option, kubeconfig_option, output_option

if TYPE_CHECKING:
    from mco.api.bootstraptokens import BootstrapToken
    from mco.kube.client import Client

T = TypeVar("T")

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Duration(click.ParamType["timedelta | None"]):
    """`90m`, `24h`, `7d`; 0 is for ever."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta | None:
        if isinstance(value, timedelta):
            return value
        number, unit = str(value)[:-1], str(value)[-1:]
        if value == "0":
            return None
        if not number.isascii() or not number.isdigit() or unit not in _UNITS or len(number) > 6:
            self.fail(f"{value!r} is not a duration as 90m, 24h or 7d", param, ctx)
        return timedelta(**{_UNITS[unit]: int(number)})


def cluster_options(function: F) -> F:
    return instance_option()(kubeconfig_option("Ask this cluster instead.")(function))


@click.group()
def command() -> None:
    """Make and list the tokens with which machines join.

    Exit codes: 0 done, 1 the API server refuses or does not answer, 2 wrong usage.
    """


@command.command()
@click.option("--pool", required=True, help="The only pool whose config the token may fetch.")
@click.option(
    "--ttl", type=Duration(), default="24h", show_default=True, help="How long it is valid; 0 for ever."
)
@click.option("--machine", default="", help="The machine it is for, noted in events and in the list.")
@output_option("text", "json", "yaml")
@cluster_options
def create(
    pool: str, ttl: timedelta | None, machine: str, output: str, name: str, kubeconfig: Path | None
) -> None:
    """Make a token and print it.

    A machine shows it as the HTTP header `Authorization: Bearer <token>` when it asks for /config/<pool>.
    """
    from mco.api import bootstraptokens
    from mco.api.resources import MACHINE_CONFIG_POOLS, SECRETS
    from mco.base.errors import NotFound
    from mco.configserver.tokens import new_token
    from mco.runtime.clock import SystemClock

    token = new_token(pool, SystemClock().now(), ttl, machine)

    async def make(client: Client) -> None:
        try:
            await client.get(MACHINE_CONFIG_POOLS, pool)
        except NotFound:
            click.echo(f"warning: there is no pool {pool} yet", err=True)
        await client.create(SECRETS, bootstraptokens.to_secret(token), namespace=bootstraptokens.NAMESPACE)

    _run(name, kubeconfig, make)
    click.echo(_shown(output, {**_fields(token), "token": token.text}) if output != "text" else token.text)


@command.command("list")
@output_option("text", "json", "yaml")
@cluster_options
def list_(output: str, name: str, kubeconfig: Path | None) -> None:
    """Show the tokens, without their secrets."""
    from mco.api import bootstraptokens, names
    from mco.api.resources import SECRETS
    from mco.cli.table import table
    from mco.configserver.tokens import readable

    async def ask(client: Client) -> list[BootstrapToken]:
        found = await client.list(
            SECRETS, namespace=bootstraptokens.NAMESPACE, label_selector=names.JOIN_POOL_LABEL
        )
        return readable(found.items)

    tokens = [_fields(token) for token in _run(name, kubeconfig, ask)]
    if output != "text":
        click.echo(_shown(output, tokens))
        return
    rows = [(t["id"], t["pool"], t["machine"], t["expires"], "yes" if t["expired"] else "no") for t in tokens]
    click.echo(table(("ID", "POOL", "MACHINE", "EXPIRES", "EXPIRED"), rows))


@command.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@cluster_options
def delete(ids: tuple[str, ...], name: str, kubeconfig: Path | None) -> None:
    """Take tokens back, by their ids. Machines that joined keep their certificates."""
    from mco.api import bootstraptokens
    from mco.api.resources import SECRETS

    async def remove(client: Client) -> None:
        for token_id in ids:
            secret = bootstraptokens.NAME_PREFIX + token_id.partition(".")[0]
            await client.delete(SECRETS, secret, namespace=bootstraptokens.NAMESPACE)

    _run(name, kubeconfig, remove)


def _run(name: str, kubeconfig: Path | None, work: Callable[[Client], Awaitable[T]]) -> T:
    import asyncio

    from mco.fleet import running
    from mco.kube.client import Client
    from mco.kube.config import load

    path = kubeconfig or running.kubeconfig(name)

    async def connected() -> T:
        async with Client(load(path), user_agent="mco-token") as client:
            return await work(client)

    return asyncio.run(connected())


def _fields(token: BootstrapToken) -> dict[str, Any]:
    from mco.runtime.clock import SystemClock, rfc3339

    return {
        "id": token.id,
        "pool": token.pool,
        "machine": token.machine,
        "expires": rfc3339(token.expiration) if token.expiration else "never",
        "expired": token.expired(SystemClock().now()),
    }


def _shown(output: str, value: Any) -> str:
    import msgspec

    if output == "json":
        return msgspec.json.format(msgspec.json.encode(value)).decode()
    return msgspec.yaml.encode(value).decode().rstrip()
