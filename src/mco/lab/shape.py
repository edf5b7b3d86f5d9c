"""What the machines of an instance have beyond the ordinary, and are given by systemd-nspawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """`packages` are Debian's, besides the base root's; `files` and `links` belong to the image, by path, and
    `units` of packages are enabled at first boot.

    `binds` are files and folders of the host, read-only, by their path in the machine. `volumes` are folders
    of the machine that lie beside its root on the disk and not in the overlay: an overlay cannot stand on
    another. `controllers` gives each machine a group of its own in every hierarchy of the host and not only
    where systemd needs one. `settings` are host-wide, with the value that programs in the machines set.
    """

    packages: tuple[str, ...] = ()
    files: Mapping[str, str] = {}
    links: Mapping[str, str] = {}
    units: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    binds: Mapping[str, Path] = {}
    volumes: tuple[str, ...] = ()
    controllers: bool = False
    settings: Mapping[str, int] = {}


ORDINARY = Shape()
