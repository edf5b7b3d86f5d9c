"""What an instance must find again when it is started anew: its machines' disks know these addresses."""

from __future__ import annotations

from pathlib import Path

import msgspec

_FILE = "kept.json"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is the folder with the machines' disks, `uses` what it mounts from the cache while it runs."""

    data: str
    subnet: str
    machines: tuple[str, ...] = ()  # a machine's number is its place
    uses: tuple[str, ...] = ()


def read(instance: Path) -> Kept | None:
    """From the instance's folder; None if there is none."""
    try:
        return msgspec.json.decode((instance / _FILE).read_bytes(), type=Kept)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write(instance: Path, kept: Kept) -> None:
    temporary = instance / f"{_FILE}.new"
    temporary.write_bytes(msgspec.json.encode(kept))
    temporary.rename(instance / _FILE)


def others(instance: Path) -> list[Kept]:
    """Those of this user's other instances, running or not."""
    folders = (folder for folder in instance.parent.iterdir() if folder != instance)
    return [kept for folder in folders if (kept := read(folder)) is not None]
