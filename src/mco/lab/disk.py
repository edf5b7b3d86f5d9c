"""A machine's disk: an overlay over image layer and base root, and a boot partition of its own.

    DATA/machines/NAME/
        base, image     links to the read-only layers
        upper, work     what the machine has written
        boot            the boot partition, mounted on /boot
        volumes         folders that are mounted over some of the root's, by their path
        lab             mounted read-only on /lab: command line and network of this boot
        provisioned     there once Ignition has finished
        console.log, ignition.log

The whole is only ever mounted in mount namespaces of our own (`launch.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from mco.base.errors import NotFound
from mco.lab import bootloader
from mco.lab.image import open_to_all


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    folder: Path

    @property
    def boot(self) -> Path:
        return self.folder / "boot"

    @property
    def lab(self) -> Path:
        return self.folder / "lab"

    def volume(self, inside: str) -> Path:
        """Of the folder `inside` of the machine."""
        return self.folder / "volumes" / inside.strip("/").replace("/", "-")

    @property
    def console(self) -> Path:
        return self.folder / "console.log"

    @property
    def ignition_log(self) -> Path:
        return self.folder / "ignition.log"

    @property
    def provisioned(self) -> bool:
        return (self.folder / "provisioned").exists()

    def mark_provisioned(self) -> None:
        (self.folder / "provisioned").touch()

    def clone(self, base: Path, image: Path, hostname: str, arguments: str) -> None:
        """Makes the disk anew from the layers. Logs are kept."""
        self.erase()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in ("upper/etc", "work", "lab"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "base").symlink_to(base)
        (self.folder / "image").symlink_to(image)
        # The overlay is not mounted anywhere yet: the upper folder may still be written to.
        (self.folder / "upper/etc/hostname").write_text(f"{hostname}\n")
        bootloader.install(self.boot, arguments)
        for name in ("upper", "boot", "lab"):
            open_to_all(self.folder / name)

    def erase(self) -> None:
        for name in ("upper", "work", "boot", "lab", "volumes"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in ("base", "image", "provisioned"):
            (self.folder / name).unlink(missing_ok=True)

    def check_layers(self) -> None:
        """Raises NotFound if the disk has lost what it stands on, as when the cache was emptied."""
        for name in ("base", "image"):
            if not (self.folder / name / ".").exists():
                raise NotFound(
                    f"the machine's disk has lost its {name} layer",
                    path=str((self.folder / name).readlink()),
                    hint="remove the machine and let it be made anew: mco down --purge",
                )

    def layers(self) -> set[Path]:
        return {
            (self.folder / name).readlink() for name in ("base", "image") if (self.folder / name).is_symlink()
        }

    def prepare_boot(self, files: Mapping[str, bytes], volumes: Sequence[str]) -> None:
        """Plays the boot loader; `files` are what the place where the machine stands gives it. Raises
        HostError if there is nothing to boot."""
        line = bootloader.command_line(bootloader.choose(self.boot))
        (self.lab / "cmdline").write_text(f"{line}\n", errors="surrogateescape")
        for name, data in files.items():
            (self.lab / name).write_bytes(data)
        for inside in volumes:
            self.volume(inside).mkdir(parents=True, exist_ok=True)
        open_to_all(self.lab)
