"""The control plane of one instance: API server first, then everything that talks to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from functools import partial

from mco.api import bootstraptokens, names, resources
from mco.base.errors import Conflict, MCOError
from mco.configserver.tokens import new_token
from mco.fleet import commands
from mco.fleet.components import running
from mco.fleet.instance import Instance, Ports, is_free
from mco.fleet.patience import patiently
from mco.fleet.starting import exists, listening, ready, until
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import AlreadyExists
from mco.lab.firstboot import Source
from mco.pki import authority as pki
from mco.pki import files, kubeconfig
from mco.runtime.clock import SystemClock

_PORT_PATIENCE = 5.0
_POLL = 0.03
_IDENTITIES = ("operator", "controller", "configserver")
TOKEN_LIFETIME = timedelta(hours=24)


class ControlPlane:
    """Made by `control_plane`; `client` is an administrator's."""

    def __init__(self, instance: Instance, ports: Ports, address: str, client: Client) -> None:
        self.instance = instance
        self.address = address
        self.client = client
        self._ports = ports
        self._authority = pki.load(instance.api / "ca.crt", instance.api / "ca.key")

    @property
    def server(self) -> str:
        return _url(self.address, self._ports.api)

    async def source(self, machine: str, pool: str) -> Source:
        """Where machine `machine` gets its config: with a token that is for it alone and lasts a day."""
        token = new_token(pool, SystemClock().now(), TOKEN_LIFETIME, machine)
        body = bootstraptokens.to_secret(token)
        create = partial(self.client.create, resources.SECRETS, body, namespace=bootstraptokens.NAMESPACE)
        # An answer that got lost: the token is there.
        with contextlib.suppress(AlreadyExists):
            await patiently(create)
        return Source(
            url=f"{_url(self.address, self._ports.config)}/config/{pool}",
            ca=self._authority.certificate_pem,
            headers={"Authorization": f"Bearer {token.text}"},
        )


@contextlib.asynccontextmanager
async def control_plane(instance: Instance, address: str, settle: float) -> AsyncIterator[ControlPlane]:
    """Runs the components until the block ends; yields when the installation is complete and the config
    server listens. Raises Unavailable, with the end of its log, when a component does not come up, Conflict
    when somebody else has one of the instance's ports."""
    ports = instance.ports(address)
    await _until_free(instance, ("127.0.0.1", address), ports)
    server = _url(address, ports.api)
    _prepare(instance, server, address)
    first = commands.api_server(instance, ports, address)
    others = (
        commands.operator(instance, server),
        commands.controller(instance, ports, settle),
        commands.config_server(instance, ports, address, server),
    )
    async with running([first]) as (api_server,):
        await until(exists(instance.kubeconfig), api_server)
        async with Client(load(instance.kubeconfig), user_agent="mco-up") as client:
            await until(ready(client), api_server)
            async with running(others) as (operator, _, config_server):
                await until(_installed(client), operator)
                await until(listening(address, ports.config), config_server)
                yield ControlPlane(instance, ports, address, client)


def _prepare(instance: Instance, server: str, address: str) -> None:
    """Identities for the components and a certificate for the config server, new at every start."""
    now = SystemClock().now()
    files.private_folder(instance.api)
    authority = pki.load_or_create(instance.api, "mco", now)
    for name in _IDENTITIES:
        user = f"system:mco:{name}"
        pair = authority.client(user, (), now)
        text = kubeconfig.with_certificate(server, authority.certificate_pem, user, pair)
        files.write(instance.identity / name, text)
    pair = authority.server("mco-config-server", (address, "localhost"), now)
    files.write(instance.tls / "tls.key", pair.key)
    files.write(instance.tls / "tls.crt", pair.certificate)


async def _until_free(instance: Instance, addresses: Iterable[str], ports: Ports) -> None:
    """Components of a run that was killed need a moment to end; anybody else keeps the port."""
    end = asyncio.get_running_loop().time() + _PORT_PATIENCE
    for address in dict.fromkeys(addresses):
        while taken := [port for port in (ports.api, ports.config) if not is_free(address, port)]:
            if asyncio.get_running_loop().time() > end:
                raise Conflict(
                    f"port {taken[0]} on {address} is taken by another process",
                    subject=f"instance/{instance.name}",
                    hint="its machines know this port: end what listens there, or start anew: "
                    f"mco down --name {instance.name} --purge",
                )
            await asyncio.sleep(_POLL)


async def _installed(client: Client) -> AsyncIterator[bool]:
    """The worker pool is the last object that the operator makes."""
    while True:
        try:
            await client.get(resources.MACHINE_CONFIG_POOLS, names.WORKER)
            yield True
        except MCOError:
            yield False


def _url(address: str, port: int) -> str:
    return f"https://{address}:{port}"
