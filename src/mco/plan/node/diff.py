"""What differs between two configs of a node (spec/daemon.md 6.1, 6.2 step 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from mco.ignition.types import File, Unit
from mco.plan.node.target import Target

T = TypeVar("T")


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """One flag per part that differs. `changed_files` and `changed_units` name what was added, changed or
    removed: the new config's order first, then what only the old one had. `forced`: somebody put the force
    file on the node, so that everything counts as an OS change."""

    os_image: bool = False
    kernel_arguments: bool = False
    fips: bool = False
    passwd: bool = False
    files: bool = False
    units: bool = False
    kernel_type: bool = False
    extensions: bool = False
    forced: bool = False
    changed_files: tuple[str, ...] = ()
    changed_units: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return self.flags == ()

    @property
    def flags(self) -> tuple[str, ...]:
        """The parts that differ, by name."""
        return tuple(name for name in _FLAGS if getattr(self, name))

    @property
    def only_kernel_arguments(self) -> bool:
        """Whether nothing but the kernel command line changes."""
        return self.flags == ("kernel_arguments",)

    @property
    def operating_system(self) -> bool:
        """Whether something changes that only a reboot makes true (spec/daemon.md 6.6, 3)."""
        return self.os_image or self.kernel_arguments or self.fips or self.kernel_type or self.extensions


_FLAGS = (
    "os_image",
    "kernel_arguments",
    "fips",
    "passwd",
    "files",
    "units",
    "kernel_type",
    "extensions",
)


def compare(old: Target, new: Target, *, forced: bool = False) -> Changes:
    """The changes from `old` to `new`. Order matters in lists; an absent list equals an empty one."""
    before, after = old.config, new.config
    return Changes(
        os_image=old.spec.os_image_url != new.spec.os_image_url or forced,
        kernel_arguments=_list(old.spec.kernel_arguments) != _list(new.spec.kernel_arguments),
        fips=old.spec.fips != new.spec.fips,
        passwd=before.passwd != after.passwd,
        files=before.storage.files != after.storage.files,
        units=before.systemd.units != after.systemd.units,
        kernel_type=kernel_type(old) != kernel_type(new),
        extensions=_list(old.spec.extensions) != _list(new.spec.extensions),
        forced=forced,
        changed_files=_changed(files(old), files(new)),
        changed_units=_changed(units(old), units(new)),
    )


def kernel_type(side: Target) -> str:
    """`realtime`, `64k-pages`, or `default` for everything else."""
    kind = side.spec.kernel_type
    return kind if kind in ("realtime", "64k-pages") else "default"


def files(side: Target) -> dict[str, File]:
    """The files by path; of duplicates the last counts (spec/daemon.md 7.2)."""
    return {file.path: file for file in side.config.storage.files}


def units(side: Target) -> dict[str, Unit]:
    return {unit.name: unit for unit in side.config.systemd.units}


def _list(value: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(value or ())


def _changed(old: Mapping[str, T], new: Mapping[str, T]) -> tuple[str, ...]:
    def differing() -> Iterable[str]:
        for key, value in new.items():
            if key not in old or old[key] != value:
                yield key
        yield from (key for key in old if key not in new)

    return tuple(differing())
