"""Bootstrap mode: answers from the files of an installation that has no cluster yet (spec/operator.md 3.5).

Only the control plane boots from here; workers wait for the cluster's own config server. Files are looked at
on each request and read again when one changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.findings import errors
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.manifests import Manifests, read
from mco.api.meta.objects import Object
from mco.api.yaml import load_all, load_documents
from mco.base.errors import InvalidInput, MCOError, Unavailable
from mco.configserver.front import NotServed
from mco.configserver.negotiate import NEWEST
from mco.configserver.preparation import prepare_fixed
from mco.configserver.prepared import Prepared
from mco.configserver.served import Source
from mco.configserver.tls import Profile, security_profile
from mco.pki import files

T = TypeVar("T", bound=Object)
Seen = tuple[tuple[Path, tuple[int, int, int]], ...]
"""The files that an answer was made of, and what identified their contents."""

PROFILE_FILE = Path("/etc/mcs/bootstrap/api-server/api-server.yaml")
"""Where an installation says which TLS it wants, wherever the rest of its files is (spec/operator.md 3.1)."""

POOLS = (names.MASTER, names.ARBITER)


class BootstrapConfigs:
    """The answers; see `front.Configs`. `bundles` are `registry=file` texts, the files relative to `folder`.

    `prepared` counts the answers made."""

    def __init__(self, folder: Path, kubeconfig: Path, bundles: Sequence[str] = ()) -> None:
        """Raises InvalidInput if the kubeconfig for machines cannot be read."""
        self._folder = folder
        self._kubeconfig = _read_kubeconfig(kubeconfig)
        self._bundles = tuple(bundles)
        self._answers: dict[tuple[str, str], tuple[Seen, Prepared]] = {}
        self.prepared = 0

    def ready(self, pool: str, version: str) -> Prepared | None:
        """Raises MCOError for a pool that has to wait for the cluster."""
        if pool not in POOLS:
            raise MCOError(f'refusing to serve bootstrap configuration to pool "{pool}"')
        seen, prepared = self._answers.get((pool, version), ((), None))
        return prepared if seen == _look(path for path, _ in seen) else None

    async def prepare(self, pool: str, version: str) -> Prepared:
        seen, prepared = await asyncio.to_thread(self._prepare, pool, version)
        self._answers[pool, version] = (seen, prepared)
        return prepared

    def _prepare(self, pool: str, version: str) -> tuple[Seen, Prepared]:
        self.prepared += 1
        pool_file = self._folder / "machine-pools" / f"{pool}.yaml"
        controller_file = self._folder / "controller-config" / f"{names.CONTROLLER_CONFIG}.yaml"
        # Looked at before they are read: what changes meanwhile is read again at the next request.
        seen = _look((pool_file, controller_file))
        name = _one(_manifests(pool_file).pools, MachineConfigPool, pool_file).status.configuration.name
        config_file = self._folder / "machine-configs" / f"{name}.yaml"
        seen += _look((config_file,))
        machine_config = _one(_manifests(config_file).machine_configs, MachineConfig, config_file)
        bundles, bundle_files = self._read_bundles()
        source = Source(
            machine_config=machine_config,
            controller=_controller(controller_file),
            bundles=bundles,
            encapsulated_version=NEWEST,
        )
        return seen + _look(bundle_files), prepare_fixed(source, self._kubeconfig, version)

    def _read_bundles(self) -> tuple[dict[str, bytes], list[Path]]:
        bundles: dict[str, bytes] = {}
        files = []
        for entry in self._bundles:
            registry, equals, name = entry.partition("=")
            if not equals or not registry or not name or {"..", ""} & set(registry.split("/")):
                raise InvalidInput(
                    "a registry's authority is not written as registry=file",
                    path=entry,
                    hint="as --bootstrap-certs=registry.example.org:5000=ca.crt",
                )
            path = self._folder / name
            files.append(path)
            try:
                bundles[registry] = _read(path)
            except NotServed as error:
                raise Unavailable("a registry's authority is missing", path=str(path)) from error
        return bundles, files


def tls_profile(path: Path = PROFILE_FILE) -> Profile:
    """The profile of the APIServer object in a file; Intermediate if there is no file.

    Raises InvalidInput for a file that holds something else."""
    try:
        documents = load_all(_read(path), str(path))
    except NotServed:
        return Profile()
    try:
        return security_profile(documents[0] if documents else None)
    except InvalidInput as error:
        raise InvalidInput(error.message, path=str(path)) from error


def _controller(path: Path) -> ControllerConfig:
    """The ControllerConfig; that it is missing is our fault and no 404."""
    try:
        manifests = _manifests(path)
    except NotServed as error:
        raise Unavailable("the ControllerConfig is missing", path=str(path)) from error
    return _one(manifests.controller_configs, ControllerConfig, path)


def _manifests(path: Path) -> Manifests:
    """Raises NotServed if the file does not exist, InvalidInput if it is broken."""
    manifests = read(load_documents(_read(path), str(path)))
    for finding in errors(manifests.findings):
        raise finding.error()
    return manifests


def _one(objects: Sequence[T], type_: type[T], path: Path) -> T:
    if len(objects) != 1:
        raise InvalidInput(f"the file must hold exactly one {type_.__name__}", path=str(path))
    return objects[0]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise NotServed("the file does not exist", path=str(path)) from error
    except OSError as error:
        raise Unavailable(f"cannot read the file: {error.strerror}", path=str(path)) from error


def _read_kubeconfig(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"cannot read the kubeconfig for machines: {error.strerror}",
            path=str(path),
            hint="pass --bootstrap-kubeconfig",
        ) from error


def _look(paths: Iterable[Path]) -> Seen:
    return tuple((path, files.identity(path)) for path in paths)
