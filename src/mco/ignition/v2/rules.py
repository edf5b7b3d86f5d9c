"""What the original's 2.2 parser refuses or warns about."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from mco.ignition import units
from mco.ignition.report import ROOT, Findings, Report
from mco.ignition.rules.disks import GUID
from mco.ignition.rules.resources import hash_error, url_error
from mco.ignition.rules.units import EXTENSIONS, extension
from mco.ignition.schema import Kind, fields
from mco.ignition.v2 import types as v2

Rule = Callable[[Any, str, Findings], None]

_SPEC3_MINOR = 0  # hashes as in spec 3.0; of the URL schemes all but the newer ones
_LABELS = {"ext4": 16, "btrfs": 256, "xfs": 12, "swap": 15, "vfat": 11}
_LEVELS = frozenset(("raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10"))
_STRIPED = frozenset(("linear", "raid0", "0", "stripe"))
_RELATIVE = "path not absolute"


def validate(config: v2.Config) -> Report:
    """Everything that is wrong with a 2.2 config, warnings included."""
    out = Findings(_SPEC3_MINOR)
    _visit(config, ROOT, out)
    return out.report()


def _visit(value: Any, path: str, out: Findings) -> None:
    struct: type = type(value)
    rule = RULES.get(struct)
    if rule is not None:
        rule(value, path, out)
    for field in fields(struct):
        inner = getattr(value, field.name)
        if field.kind is Kind.STRUCT and inner is not None:
            _visit(inner, f"{path}.{field.key}", out)
        elif field.kind is Kind.STRUCTS:
            for index, item in enumerate(inner):
                _visit(item, f"{path}.{field.key}.{index}", out)


def _check_config(config: v2.Config, path: str, out: Findings) -> None:
    storage = config.storage
    known = {"root", *(filesystem.name for filesystem in storage.filesystems)}
    lists = (("files", "File", storage.files), ("links", "Link", storage.links))
    for key, word, nodes in (*lists, ("directories", "Directory", storage.directories)):
        for index, node in enumerate(nodes):
            if node.filesystem and node.filesystem not in known:
                message = (
                    f'{word} "{node.path}" references nonexistent filesystem "{node.filesystem}". '
                    "(This is ok if it is defined in a referenced config)"
                )
                out.warn(f"{path}.storage.{key}.{index}", message)
    seen = {"root"}
    for index, filesystem in enumerate(storage.filesystems):
        if filesystem.name in seen:
            message = f'Filesystem "{filesystem.name}" shadows exising filesystem definition'
            out.warn(f"{path}.storage.filesystems.{index}", message)
        seen.add(filesystem.name)


def _check_reference(reference: v2.Reference, path: str, out: Findings) -> None:
    message = url_error(reference.source, out.minor)
    if message:
        out.error(f"{path}.source", f'invalid url "{reference.source}": {message}')


def _check_verification(verification: v2.Verification, path: str, out: Findings) -> None:
    message = hash_error(verification.hash, out.minor)
    if message:
        out.error(f"{path}.hash", message)


def _check_node(node: v2.Node, path: str, out: Findings) -> None:
    if not node.filesystem:
        out.error(f"{path}.filesystem", "no filesystem specified")
    if not node.path.startswith("/"):
        out.error(f"{path}.path", _RELATIVE)


def _check_file(file: v2.File, path: str, out: Findings) -> None:
    if file.overwrite and file.append:
        out.error(path, "cannot set both append and overwrite to true")
    _check_mode(file.mode, f"{path}.mode", "file permissions unset, defaulting to 0000", out)
    _check_node(file, path, out)


def _check_directory(directory: v2.Directory, path: str, out: Findings) -> None:
    _check_mode(directory.mode, f"{path}.mode", "directory permissions unset, defaulting to 0000", out)
    _check_node(directory, path, out)


def _check_mode(mode: int | None, path: str, unset: str, out: Findings) -> None:
    if mode is None:
        out.warn(path, unset)
    elif not 0 <= mode <= 0o7777:
        out.error(path, "illegal file mode")


def _check_contents(contents: v2.FileContents, path: str, out: Findings) -> None:
    if contents.compression not in ("", "gzip"):
        out.error(f"{path}.compression", "invalid compression method")
    message = url_error(contents.source, out.minor)
    if message:
        out.error(f"{path}.source", f'invalid url "{contents.source}": {message}')


def _check_owner(owner: v2.Owner, path: str, out: Findings) -> None:
    if owner.id is not None and owner.name:
        out.error(path, "cannot set both id and name")


def _check_user(user: v2.PasswdUser, path: str, out: Findings) -> None:
    if user.create is None:
        return
    out.warn(path, "the create object has been deprecated in favor of user-level options")
    for field in fields(v2.UserCreate):
        value = getattr(user, field.name)
        if value is not None and value is not False and value not in ("", ()):
            message = f"cannot use both the create object and the user-level {field.key} field"
            out.error(f"{path}.{field.key}", message)


def _check_filesystem(filesystem: v2.Filesystem, path: str, out: Findings) -> None:
    mount = filesystem.mount
    if mount is None and filesystem.path is None:
        out.error(path, "filesystem is missing mount or path")
    if mount is not None and filesystem.path is not None:
        out.error(path, "filesystem has both mount and path defined")
    if mount is not None and mount.create is not None:
        if mount.wipe_filesystem:
            out.error(path, "cannot use both create object and wipeFilesystem field")
        if mount.options:
            out.error(path, "cannot use both create object and mount-level options field")
        out.warn(path, "the create object has been deprecated in favor of mount-level options")
    if filesystem.path is not None and not filesystem.path.startswith("/"):
        out.error(f"{path}.path", f'filesystem "{filesystem.name}": path not absolute')


def _check_mount(mount: v2.Mount, path: str, out: Findings) -> None:
    if mount.format not in _LABELS:
        out.error(path, "invalid filesystem format")
    if not mount.device.startswith("/"):
        out.error(f"{path}.device", _RELATIVE)
    longest = _LABELS.get(mount.format)
    if longest is not None and len((mount.label or "").encode()) > longest:
        message = f"filesystem labels cannot be longer than {longest} characters when using {mount.format}"
        out.error(f"{path}.label", message)


def _check_disk(disk: v2.Disk, path: str, out: Findings) -> None:
    if not disk.device:
        out.error(f"{path}.device", "disk device is required")
    elif not disk.device.startswith("/"):
        out.error(f"{path}.device", _RELATIVE)
    numbers = [partition.number for partition in disk.partitions if partition.number]
    if len(numbers) != len(set(numbers)):
        out.error(f"{path}.partitions", "partition numbers collide")
    if _overlap([(p.start, p.start + p.size - 1 if p.size else p.start) for p in disk.partitions if p.start]):
        out.error(f"{path}.partitions", "partitions overlap")
    if any(partition.start % 2048 for partition in disk.partitions):
        out.error(f"{path}.partitions", "partitions misaligned")


def _overlap(ranges: list[tuple[int, int]]) -> bool:
    ordered = sorted(ranges)
    return any(later[0] <= earlier[1] for earlier, later in pairwise(ordered))


def _check_partition(partition: v2.Partition, path: str, out: Findings) -> None:
    if len(partition.label.encode()) > 36:
        out.error(f"{path}.label", "partition labels may not exceed 36 characters")
    if ":" in partition.label:
        out.warn(f"{path}.label", "partition label will be truncated to text before the colon")
    for key, guid in (("guid", partition.guid), ("typeGuid", partition.type_guid)):
        if not GUID.fullmatch(guid):
            out.error(f"{path}.{key}", 'doesn\'t match the form "01234567-89AB-CDEF-EDCB-A98765432101"')


def _check_raid(raid: v2.Raid, path: str, out: Findings) -> None:
    if raid.level in _STRIPED:
        if raid.spares:
            out.error(f"{path}.level", "spares unsupported for arrays with a level greater than 0")
    elif raid.level not in _LEVELS:
        out.error(f"{path}.level", "unrecognized raid level")
    for index, device in enumerate(raid.devices):
        if not device.startswith("/"):
            out.error(f"{path}.devices.{index}", _RELATIVE)


def _check_unit(unit: v2.Unit, path: str, out: Findings) -> None:
    options = _options(unit.contents, f"{path}.contents", out)
    installs = options is None or any(option.section == "Install" for option in options)
    if (unit.enable or unit.enabled) and unit.contents and not installs:
        message = f'unit "{unit.name}" is enabled, but has no install section so enable does nothing'
        out.warn(f"{path}.contents", message)
    if extension(unit.name) not in EXTENSIONS:
        out.error(f"{path}.name", "invalid systemd unit extension")


def _check_dropin(dropin: v2.Dropin | v2.NetworkdDropin, path: str, out: Findings) -> None:
    _options(dropin.contents, f"{path}.contents", out)
    if extension(dropin.name) != ".conf":
        word = "systemd" if isinstance(dropin, v2.Dropin) else "networkd"
        out.error(f"{path}.name", f"invalid {word} drop-in extension")


def _check_networkd_unit(unit: v2.NetworkdUnit, path: str, out: Findings) -> None:
    _options(unit.contents, f"{path}.contents", out)
    if extension(unit.name) not in (".link", ".netdev", ".network"):
        out.error(f"{path}.name", "invalid networkd unit extension")


def _options(contents: str, path: str, out: Findings) -> tuple[units.Option, ...] | None:
    try:
        return units.parse(contents)
    except units.UnitError as error:
        out.error(path, f"invalid unit content: {error}")
        return None


RULES: dict[type, Rule] = {
    v2.Config: _check_config,
    v2.Directory: _check_directory,
    v2.Disk: _check_disk,
    v2.Dropin: _check_dropin,
    v2.File: _check_file,
    v2.FileContents: _check_contents,
    v2.Filesystem: _check_filesystem,
    v2.Link: _check_node,
    v2.Mount: _check_mount,
    v2.NetworkdDropin: _check_dropin,
    v2.NetworkdUnit: _check_networkd_unit,
    v2.Owner: _check_owner,
    v2.Partition: _check_partition,
    v2.PasswdUser: _check_user,
    v2.Raid: _check_raid,
    v2.Reference: _check_reference,
    v2.Unit: _check_unit,
    v2.Verification: _check_verification,
}
