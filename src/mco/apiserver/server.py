"""A running API server: data folder, keys, sockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from mco.apiserver import credentials
from mco.apiserver.auth import bootstrap
from mco.apiserver.auth.authenticate import Authenticator
from mco.apiserver.auth.authorize import reason_of
from mco.apiserver.auth.rules import Attributes
from mco.apiserver.auth.tokens import BootstrapTokens
from mco.apiserver.auth.user import User
from mco.apiserver.core import Core, wall_clock
from mco.apiserver.http.app import Application
from mco.apiserver.http.listener import Listener, bind, tls_context
from mco.apiserver.registry.builtin import NAMESPACES
from mco.pki import files

TICK_SECONDS = 30.0


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`bind` are addresses to listen on, `names` more names and addresses for the serving certificate; `now`
    is the wall clock that objects are stamped with."""

    data_dir: Path
    port: int = 0
    bind: tuple[str, ...] = ("127.0.0.1",)
    names: tuple[str, ...] = ()
    tokens: Mapping[str, User] = msgspec.field(default_factory=dict)
    now: Callable[[], datetime] = wall_clock


class Running(msgspec.Struct, frozen=True):
    """A server that accepts connections. `url` is its address as local clients use it."""

    url: str
    kubeconfig: Path
    core: Core
    work: tuple[asyncio.Task[None], ...]

    async def failed(self) -> None:
        """Waits until some of the work behind the scenes fails, and raises why."""
        await asyncio.gather(*self.work)


@contextlib.asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Running]:
    """Serves while the context is open.

    Raises Conflict when another server has the folder, InvalidInput for a damaged one, Unavailable when an
    address cannot be bound."""
    folder = files.private_folder(settings.data_dir)
    core = Core(folder, settings.now)
    try:
        await _ensure_namespaces(core)
        await _ensure_roles(core)
        sockets = bind(settings.bind, settings.port)
        keys = credentials.prepare(folder, _names(settings))
        context = tls_context(keys.certificate, keys.key, keys.ca)
        listener = Listener(application(core, settings), context, settings.now)
        await listener.start(sockets)
        url = credentials.url_of(settings.bind[0], sockets[0].getsockname()[1])
        kubeconfig = credentials.write_kubeconfig(folder, url)
        work = tuple(
            asyncio.create_task(part)
            for part in (
                _tick(core),
                core.garbage.run(),
                core.budgets.run(),
                core.expiry.run(),
                core.aggregation.run(),
            )
        )
        try:
            yield Running(url, kubeconfig, core, work)
        finally:
            core.end_watches()
            await listener.stop()
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
    finally:
        core.close()


def application(core: Core, settings: Settings) -> Application:
    """The server without its sockets."""
    tokens = BootstrapTokens(core.store.get)

    def may(user: User, asked: Attributes) -> bool:
        return bool(reason_of(core.roles, user, asked))

    return Application(core, Authenticator(settings.tokens, tokens.user_of, may))


def _names(settings: Settings) -> Sequence[str]:
    concrete = (address for address in settings.bind if address not in ("0.0.0.0", "::"))
    return tuple(dict.fromkeys(("localhost", "127.0.0.1", "::1", *concrete, *settings.names)))


async def _ensure_namespaces(core: Core) -> None:
    served = core.catalog.find("", "v1", "namespaces")
    assert served is not None
    for name in NAMESPACES:
        if core.store.get(served.key("", name)) is None:
            await core.writes.create(served, "", {"metadata": {"name": name}}, core.own())


async def _ensure_roles(core: Core) -> None:
    """Roles and bindings that people expect, where they are not there yet."""
    for plural, bodies in (
        ("clusterroles", bootstrap.roles()),
        ("clusterrolebindings", bootstrap.bindings()),
    ):
        served = core.catalog.find(bootstrap.GROUP, "v1", plural)
        assert served is not None
        for body in bodies:
            if core.store.get(served.key("", body["metadata"]["name"])) is None:
                await core.writes.create(served, "", body, core.own())
    await core.aggregation.settle()


async def _tick(core: Core) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        await core.tick()
