"""What an instance of the lab leaves on the host, as a value that can be compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from mco.lab import paths, settings
from mco.lab.kubernetes import node
from tests import smalldisk


class Footprint(msgspec.Struct, frozen=True, kw_only=True):
    mounts: tuple[str, ...]
    interfaces: tuple[str, ...]
    cgroups: tuple[str, ...]
    processes: tuple[str, ...]
    settings: tuple[int, ...]
    shared: tuple[str, ...]


def footprint(*instances: str) -> Footprint:
    """Of everything that could belong to these instances. Others may run on this host at the same time, so
    names are only counted with the tag of one of ours."""
    tags = tuple(paths.instance_tag(instance) for instance in instances)
    return Footprint(
        mounts=tuple(filter(_of_the_lab, Path("/proc/self/mounts").read_text().splitlines())),
        interfaces=tuple(name for name in sorted(os.listdir("/sys/class/net")) if _has(name, tags)),
        cgroups=tuple(str(path) for path in _cgroups() if _has(path.name, tags)),
        processes=tuple(line for line in _command_lines() if _has(line, tags)),
        settings=_settings(),
        shared=_users(instances),
    )


def _of_the_lab(mount: str) -> bool:
    return "mco" in mount and smalldisk.PREFIX not in mount


def _has(text: str, tags: tuple[str, ...]) -> bool:
    return any(tag in text for tag in tags)


def _cgroups() -> list[Path]:
    folders = (Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup"))
    return sorted(folder for folder in folders if folder.name.startswith("mcolab-"))


def _command_lines() -> list[str]:
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return lines


def _settings() -> tuple[int, ...]:
    """What they are, or will be put back to by the last of those who hold them up; `shared` says who."""
    held = _shared().get("settings", {})
    return tuple(
        held[name]["original"] if name in held else int(Path("/proc/sys", *name.split(".")).read_text())
        for name in (*settings.RAISED, *node.SETTINGS)
    )


def _users(instances: tuple[str, ...]) -> tuple[str, ...]:
    users = " ".join(_shared().get("users", ()))
    return tuple(name for name in instances if str(paths.instance_folder(name)) in users)


def _shared() -> dict[str, Any]:
    try:
        shared: dict[str, Any] = msgspec.json.decode((paths.RUN / "settings.json").read_bytes())
    except FileNotFoundError:
        return {}
    return shared
