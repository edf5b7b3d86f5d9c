"""A cluster for the config server: the embedded API server with one worker pool that is rendered."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mco.api import names
from mco.api.resources import (
    CONFIG_MAPS,
    CONTROLLER_CONFIGS,
    CUSTOM_RESOURCE_DEFINITIONS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    NAMESPACES,
    Resource,
)
from mco.apiserver.server import Settings, running
from mco.base.errors import NotFound
from mco.configserver.cluster import Access
from mco.configserver.limits import Limits
from mco.configserver.process import Listeners, Ports, run_cluster
from mco.kube.client import Client
from mco.kube.config import Cluster, load
from mco.kube.errors import NotFoundError
from mco.runtime.scraping import Address
from tests.configserver.clients import new_authority, write_pair

CA = b"-----BEGIN CERTIFICATE-----\nauthority of the cluster\n-----END CERTIFICATE-----\n"
KUBELET_CA = b"-----BEGIN CERTIFICATE-----\nauthority of the kubelets\n-----END CERTIFICATE-----\n"
URL = "https://api-int.example.org:6443"


class Installation:
    """`client` is an administrator's."""

    def __init__(self, cluster: Cluster, client: Client, folder: Path) -> None:
        self.cluster = cluster
        self.client = client
        self.folder = folder
        self.tokens = folder / "bootstrap-token"

    async def machine_config(self, name: str, config: Mapping[str, Any] | None = None, **spec: Any) -> None:
        body = {"metadata": {"name": name}, "spec": {"config": config or ignition("/etc/motd", name), **spec}}
        await self.client.create(MACHINE_CONFIGS, body)

    async def pool(self, name: str, current: str, newest: str = "", updated: int = 0) -> None:
        """Create or change a pool: what its machines have, what is newest, and how many have that."""
        spec = {"configuration": {"name": newest or current}}
        status = {"configuration": {"name": current}, "updatedMachineCount": updated}
        try:
            await self.client.patch(MACHINE_CONFIG_POOLS, name, {"spec": spec})
        except NotFoundError:
            await self.client.create(MACHINE_CONFIG_POOLS, {"metadata": {"name": name}, "spec": spec})
        await self.client.patch(MACHINE_CONFIG_POOLS, name, {"status": status}, subresource="status")

    def listeners(self, limits: Limits | None = None) -> Listeners:
        folder = self.folder / "tls"
        if not folder.exists():
            folder.mkdir()
            write_pair(new_authority(), folder, "mcs")
        return Listeners(
            certificate=folder / "tls.crt",
            key=folder / "tls.key",
            bind="127.0.0.1",
            secure_port=0,
            insecure_port=0,
            limits=limits or Limits(),
            grace=0.5,
            metrics=Address("127.0.0.1", 0),
        )

    @contextlib.asynccontextmanager
    async def config_server(self, *, require_token: bool = False) -> AsyncIterator[Ports]:
        started: asyncio.Future[Ports] = asyncio.get_running_loop().create_future()
        access = Access(server=URL, token_folder=self.tokens)
        server = asyncio.create_task(
            run_cluster(
                self.cluster,
                access,
                self.listeners(),
                require_token=require_token,
                started=started.set_result,
                signals=False,
            )
        )
        try:
            server.add_done_callback(lambda ended: _pass_on(ended, started))
            yield await asyncio.wait_for(started, 20)
        finally:
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)


def _pass_on(ended: asyncio.Task[None], started: asyncio.Future[Ports]) -> None:
    """A server that ended before it listened says why."""
    error = None if ended.cancelled() else ended.exception()
    if error and not started.done():
        started.set_exception(error)


def ignition(path: str, text: str, version: str = "3.5.0") -> dict[str, Any]:
    file = {"path": path, "mode": 420, "contents": {"source": f"data:,{text}"}}
    return {"ignition": {"version": version}, "storage": {"files": [file]}}


@contextlib.asynccontextmanager
async def installation(folder: Path) -> AsyncIterator[Installation]:
    async with running(Settings(data_dir=folder / "api")) as server:
        cluster = load(server.kubeconfig)
        async with Client(cluster) as client:
            await prepare(client)
            made = Installation(cluster, client, folder)
            made.tokens.mkdir()
            (made.tokens / "token").write_text("shared-token.of.the-folder\n")
            await made.machine_config("rendered-worker-1")
            await made.pool("worker", "rendered-worker-1")
            yield made


async def prepare(client: Client) -> None:
    for resource in (MACHINE_CONFIGS, MACHINE_CONFIG_POOLS, CONTROLLER_CONFIGS):
        await define(client, resource)
    await client.create(NAMESPACES, {"metadata": {"name": names.NAMESPACE}})
    spec = {"kubeAPIServerServingCAData": base64.b64encode(KUBELET_CA).decode()}
    await client.create(CONTROLLER_CONFIGS, {"metadata": {"name": names.CONTROLLER_CONFIG}, "spec": spec})
    body = {
        "metadata": {"name": "kubeconfig-data"},
        "binaryData": {"ca-bundle.crt": base64.b64encode(CA).decode()},
    }
    await client.create(CONFIG_MAPS, body, namespace=names.NAMESPACE)


async def define(client: Client, resource: Resource[Any]) -> None:
    """The kind, without a schema: what is in it is not the subject here."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free, "status": free}}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    spec = {
        "group": resource.group,
        "names": {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind},
        "scope": "Cluster",
        "versions": [version],
    }
    name = f"{resource.plural}.{resource.group}"
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, {"metadata": {"name": name}, "spec": spec})
    async with asyncio.timeout(5):
        while True:
            with contextlib.suppress(NotFound):
                await client.list(resource)
                return


def files(body: bytes) -> dict[str, dict[str, Any]]:
    """The files of a served config by path."""
    return {file["path"]: file for file in msgspec.json.decode(body)["storage"]["files"]}
