"""The machine that an installation starts from: it renders the manifests and serves the first masters."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from mco.api import names
from mco.api.yaml import Document
from mco.cli.bootstrap import write
from mco.configserver.admission import everybody
from mco.configserver.bootstrap import BootstrapConfigs
from mco.configserver.front import Front
from mco.configserver.server import Server
from mco.lab.firstboot import Source
from mco.render.bootstrap import bootstrap, gather
from mco.render.checks import Versions
from mco.runtime.clock import SystemClock

CONTROLLER = {
    "apiVersion": names.API_VERSION,
    "kind": "ControllerConfig",
    "metadata": {"name": names.CONTROLLER_CONFIG},
    "spec": {},
}


@contextlib.asynccontextmanager
async def installer(
    folder: Path, kubeconfig: bytes, *machine_configs: dict[str, Any]
) -> AsyncIterator[Source]:
    """Where a master gets its config from, as long as the installer runs."""
    manifests = (CONTROLLER, *machine_configs)
    inputs = gather(Document(item, "manifests.yaml", 1) for item in manifests)
    write(folder, bootstrap(inputs, "manifests", Versions()))
    credentials = folder / "kubeconfig"
    credentials.write_bytes(kubeconfig)
    server = Server(Front(BootstrapConfigs(folder, credentials), everybody, SystemClock()).answer)
    port = await server.listen("127.0.0.1", 0)
    try:
        yield Source(url=f"http://127.0.0.1:{port}/config/master")
    finally:
        await server.close(grace=0)
