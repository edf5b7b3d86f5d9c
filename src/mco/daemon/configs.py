"""The MachineConfigs that a node has to do with, from the cluster and from its own copies.

A config that the node was told to become is kept on the disk before anything is done with it: an interrupted
update goes on without the API server, and a rendered config that was deleted meanwhile is no obstacle
(design.md 6, recovery). Copies hold whole configs and are 0600.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.resources import MACHINE_CONFIGS
from mco.base.errors import MCOError, NotFound, Unavailable
from mco.host.root import Root
from mco.kube.client import Client
from mco.runtime.logging import Logger

FOLDER = f"{names.STATE_FOLDER}/configs"

_log = Logger("mco.daemon.configs")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


class Named(msgspec.Struct, frozen=True):
    """As much of a stored MachineConfig as tells whose copy it is."""

    metadata: NamedMetadata


class NamedMetadata(msgspec.Struct, frozen=True):
    name: str = ""


def name_of(raw: bytes | None) -> str:
    """The name of a stored MachineConfig; nothing for a file that is none."""
    try:
        return msgspec.json.decode(raw or b"", type=Named).metadata.name
    except msgspec.MsgspecError:
        return ""


class Configs:
    """`found`, `missing` and `unknown` are what an observation holds; `raw` is the JSON of each that was
    found."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self.found: dict[str, MachineConfig] = {}
        self.missing: dict[str, str] = {}
        self.unknown: set[str] = set()
        self.raw: dict[str, bytes] = {}

    async def download(self, client: Client, name: str) -> bytes | MCOError:
        """The server's copy, or why there is none to be had now."""
        try:
            return await client.request("GET", MACHINE_CONFIGS.path(name))
        except (NotFound, Unavailable) as error:
            return error

    def keep(self, name: str, answer: bytes | MCOError, *, joining: bool) -> None:
        """Takes the server's copy, or the node's own. Raises Unavailable when there is none and the server
        may have one later."""
        if isinstance(answer, MCOError):
            raw = self._own(name, joining=joining)
            if raw is None and isinstance(answer, Unavailable):
                raise answer
            if raw is None:
                self.missing[name] = str(answer)
                return
            _log.warning("using the node's own copy of a config", config=name, error=str(answer))
            if isinstance(answer, NotFound):
                self.unknown.add(name)
        else:
            raw = answer
            self._store(name, raw)
            self.unknown.discard(name)
        self.raw[name] = raw
        self.found[name] = msgspec.json.decode(raw, type=MachineConfig)

    def forget(self) -> None:
        """Until the next change nothing of them is needed."""
        self.found.clear()
        self.missing.clear()
        self.unknown.clear()
        self.raw.clear()

    def retry(self) -> None:
        """What was missing may be there now."""
        self.missing.clear()

    def prune(self, keep: Iterable[str]) -> None:
        """Removes the copies of configs that the node has left behind."""
        wanted = {f"{name}.json" for name in keep}
        for file in self._root.list(FOLDER):
            if file not in wanted:
                self._root.remove(f"{FOLDER}/{file}")

    def _store(self, name: str, raw: bytes) -> None:
        path = _path(name)
        if self._root.read_optional(path) != raw:
            self._root.write(path, raw, mode=0o600, dir_mode=0o700)

    def copies(self, name: str, *, joining: bool = False) -> Iterator[tuple[str, bytes]]:
        """Every file that says to be that config, with its path. Until the node has joined, its note of the
        config on disk may be a first boot's reduced one."""
        places = [_path(name), names.SERVED_CONFIG_FILE]
        if not joining:
            places.append(names.CURRENT_CONFIG_FILE)
        for place in places:
            raw = self._root.read_optional(place)
            if raw is not None and name_of(raw) == name:
                yield place, raw

    def _own(self, name: str, *, joining: bool) -> bytes | None:
        for place, raw in self.copies(name, joining=joining):
            if _is_whole(raw):
                return raw
            _log.warning("a copy of a config is damaged and not used", config=name, path=place)
        return None


def _is_whole(raw: bytes) -> bool:
    try:
        msgspec.json.decode(raw, type=MachineConfig)
    except msgspec.MsgspecError:
        return False
    return True


def _path(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise NotFound(f'"{name}" is not the name of a MachineConfig')
    return f"{FOLDER}/{name}.json"
