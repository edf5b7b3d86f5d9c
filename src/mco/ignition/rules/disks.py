"""Rules for disks, partitions, arrays and filesystems."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mco.ignition import types as t
from mco.ignition.report import Findings
from mco.ignition.rules.nodes import check_path

GUID = re.compile(r"(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})?")
_MAX_PARTITION_LABEL = 36

# Formats: longest label in bytes, and the 3.x minor version that introduced each.
_FORMATS: dict[str, tuple[int | None, int]] = {
    "ext4": (16, 0),
    "btrfs": (256, 0),
    "xfs": (12, 0),
    "swap": (15, 0),
    "vfat": (11, 0),
    "none": (None, 3),
}
_STRIPED = ("linear", "raid0", "0", "stripe")
_REDUNDANT = ("raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10")


def check_disk(disk: t.Disk, path: str, out: Findings) -> None:
    if not disk.device:
        out.error(f"{path}.device", "disk device is required")
        return
    check_path(disk.device, f"{path}.device", out)
    partitions = disk.partitions
    numbers = (partition.number or None for partition in partitions)
    labels = (partition.label for partition in partitions)
    if (index := _repeated(numbers)) is not None:
        out.error(f"{path}.partitions.{index}", "partition numbers collide")
    if (index := _overlapping(partitions)) is not None:
        out.error(f"{path}.partitions.{index}", "partitions overlap")
    if any(p.should_exist is False for p in partitions) and any(p.number == 0 for p in partitions):
        message = "shouldExist is false for a partition and other partition(s) has start or size 0"
        out.error(f"{path}.partitions", message)
    if (index := _repeated(labels)) is not None:
        out.error(f"{path}.partitions.{index}", "cannot use the same partition label twice")


def check_partition(partition: t.Partition, path: str, out: Findings) -> None:
    if partition.should_exist is False and _describes(partition):
        out.error(path, "shouldExist specified false with other options also specified")
    if partition.number == 0 and partition.label is None:
        out.error(path, "a partition number >= 1 or a label must be specified")
    label = partition.label or ""
    if len(label.encode()) > _MAX_PARTITION_LABEL:
        out.error(f"{path}.label", "partition labels may not exceed 36 characters")
    elif ":" in label:
        out.error(f"{path}.label", "partition label will be truncated to text before the colon")
    for key, guid in (("guid", partition.guid), ("typeGuid", partition.type_guid)):
        if guid is not None and not GUID.fullmatch(guid):
            out.error(f"{path}.{key}", 'doesn\'t match the form "01234567-89AB-CDEF-EDCB-A98765432101"')


def check_raid(raid: t.Raid, path: str, out: Findings) -> None:
    if not raid.level and out.minor >= 3:
        out.error(f"{path}.level", "raid level is required")
    elif raid.level in _STRIPED:
        if raid.spares:
            out.error(f"{path}.level", "spares unsupported for linear and raid0 arrays")
    elif raid.level not in _REDUNDANT:
        out.error(f"{path}.level", "unrecognized raid level")
    if not raid.devices:
        out.error(f"{path}.devices", "raid devices required")
    for index, device in enumerate(raid.devices):
        check_path(device, f"{path}.devices.{index}", out)


def check_filesystem(filesystem: t.Filesystem, path: str, out: Findings) -> None:
    if filesystem.path:
        check_path(filesystem.path, f"{path}.path", out)
    check_path(filesystem.device, f"{path}.device", out)
    message = _format_error(filesystem, out.minor)
    if message:
        out.error(f"{path}.format", message)
    message = _label_error(filesystem)
    if message:
        out.error(f"{path}.label", message)


def check_partitioned(storage: t.Storage, path: str, out: Findings) -> None:
    """Filesystems on a disk that the same config partitions or wipes."""
    disks = {disk.device: disk for disk in storage.disks}
    for index, filesystem in enumerate(storage.filesystems):
        disk = disks.get(filesystem.device)
        if disk is None:
            continue
        at = f"{path}.filesystems.{index}.device"
        if disk.partitions:
            out.warn(at, "filesystem overwrites partitioned device")
        elif disk.wipe_table and not filesystem.wipe_filesystem:
            out.warn(at, "device matches disk with wipeTable enabled; filesystem will be wiped")


def _format_error(filesystem: t.Filesystem, minor: int) -> str:
    f = filesystem
    if f.format:
        _, since = _FORMATS.get(f.format, (None, 99))
        return "invalid filesystem format" if since > minor else ""
    if f.path or f.label or f.uuid or f.wipe_filesystem or f.mount_options or f.options:
        fields = "path, label, uuid, wipeFilesystem, options, or mountOptions"
        return f"format cannot be empty when {fields} is specified"
    return ""


def _label_error(filesystem: t.Filesystem) -> str:
    if not filesystem.label:
        return ""
    if not filesystem.format:
        return "filesystem must specify format if label is specified"
    longest, _ = _FORMATS.get(filesystem.format, (None, 0))
    if longest is None or len(filesystem.label.encode()) <= longest:
        return ""
    return f"filesystem labels cannot be longer than {longest} characters when using {filesystem.format}"


def _describes(partition: t.Partition) -> bool:
    return bool(
        partition.label is not None
        or partition.type_guid
        or partition.guid
        or partition.start_mib is not None
        or partition.size_mib is not None
    )


def _repeated(values: Iterable[object]) -> int | None:
    """The index of the first value that was there before; None does not count."""
    seen: set[object] = set()
    for index, value in enumerate(values):
        if value is not None and value in seen:
            return index
        seen.add(value)
    return None


def _overlapping(partitions: tuple[t.Partition, ...]) -> int | None:
    """The first partition that an earlier or later one meets; starts of 0 are placed by the tool and
    unknown."""
    ranges = [(index, *bounds) for index, p in enumerate(partitions) if (bounds := _bounds(p)) is not None]
    for index, start, end in ranges:
        for other, first, last in ranges:
            if index != other and (
                first <= start <= last or first <= end <= last or start < first <= last < end
            ):
                return other
    return None


def _bounds(partition: t.Partition) -> tuple[int, int] | None:
    start, size = partition.start_mib, partition.size_mib
    if not start or size is None:
        return None
    return start, start + size - 1 if size else start
