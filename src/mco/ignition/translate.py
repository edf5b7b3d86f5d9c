"""Translates configs between versions of the spec (spec/render.md 8.2, 8.3).

Going up, nothing but the version changes. Going down, one step follows the other as in the original: 3.5,
3.4, 3.3, 3.2, then 3.1 or 2.2. Each step judges the config before and after by the rules of its version,
refuses what the older version cannot say and would matter, and silently drops what it cannot say and would
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from mco.ignition import encode
from mco.ignition import types as t
from mco.ignition.report import OK, IgnitionError, Report
from mco.ignition.rules import urls
from mco.ignition.v2 import down as v2_down
from mco.ignition.v2 import rules as v2_rules
from mco.ignition.validate import validate
from mco.ignition.versions import Version, parse_version

_UNSUPPORTED = "the requested conversion is not supported"
_SPECIAL_BITS = 0o7000


class Loss(NamedTuple):
    """Something that a version cannot say: the original's text, the place."""

    message: str
    path: str


def up(config: t.Config) -> t.Config:
    """A config of any 3.x version as 3.5; what an older version spells otherwise, the parser has seen to."""
    return _with_version(config, t.VERSION)


def down(config: t.Config, version: str) -> bytes:
    """A 3.5 config as the JSON of an older version: 3.4.0, 3.3.0, 3.2.0, 3.1.0 or 2.2.0 (3.5.0 just encodes).

    Raises IgnitionError with the original's text for what that version cannot express, for a config that is
    invalid, and for versions that nothing is converted to (3.0.0 among them).
    """
    wanted = parse_version(version)
    if wanted == Version(3, 5, 0):
        return encode.to_json(config)
    if wanted is None or wanted not in _TARGETS:
        raise IgnitionError(
            f"conversion for source version {t.VERSION} to target version {version} is not supported "
            f"{_UNSUPPORTED}",
            hint=f"ask for one of {', '.join(str(target) for target in _TARGETS)}",
        )
    for step in _STEPS:
        config = _take(step, config)
        if wanted == Version(3, step.minor, 0):
            return encode.to_json(config)
        if wanted.major == 2 and step.minor == 2:
            break
    return _to_spec2(config)


class _Step(NamedTuple):
    """One version down, to 3.`minor`."""

    minor: int
    losses: Callable[[t.Config], Iterator[Loss]]
    translate: Callable[[t.Config], t.Config]


def _take(step: _Step, config: t.Config) -> t.Config:
    _check_input(config, step.minor + 1)
    for loss in step.losses(config):
        raise _refuse(loss.message, loss.path)
    translated = _with_version(step.translate(config), f"3.{step.minor}.0")
    _check_result(validate(translated, step.minor), step.minor)
    return translated


def _to_spec2(config: t.Config) -> bytes:
    _check_input(config, 2)
    translated = v2_down.down(config, _refuse)
    _check_result(v2_rules.validate(translated), 2)
    raw: dict[str, object] = msgspec.json.decode(msgspec.json.encode(translated))
    encode.prune(raw)
    return encode.dumps(raw)


def _check_input(config: t.Config, minor: int) -> None:
    report = validate(config, minor)
    if report.fatal:
        word = "invalid" if minor == 5 else "Invalid"
        raise _refuse(f"{word} input config:\n{report}", report=report)


def _check_result(report: Report, minor: int) -> None:
    if report.fatal:
        word = "converted" if minor == 4 else "Converted"
        raise _refuse(f"{word} spec has unexpected fatal error:\n{report}", report=report)


def _refuse(message: str, path: str = "", report: Report = OK) -> IgnitionError:
    return IgnitionError(
        message,
        path=path,
        report=report,
        hint="use a newer Ignition on the machine, or take this part out of the config",
    )


def _with_version(config: t.Config, version: str) -> t.Config:
    return replace(config, ignition=replace(config.ignition, version=version))


def _with_luks(config: t.Config, change: Callable[[t.Luks], t.Luks]) -> t.Config:
    if not config.storage.luks:
        return config
    return replace(
        config, storage=replace(config.storage, luks=tuple(change(luks) for luks in config.storage.luks))
    )


def _nothing(config: t.Config) -> Iterator[Loss]:
    del config
    return iter(())


def _drop_cex(config: t.Config) -> t.Config:
    return _with_luks(config, lambda luks: replace(luks, cex=t.Cex()))


def _losses_33(config: t.Config) -> Iterator[Loss]:
    ignition = config.ignition
    merge = [(f"$.ignition.config.merge.{i}", r) for i, r in enumerate(ignition.config.merge)]
    authorities = ignition.security.tls.certificate_authorities
    tls = [(f"$.ignition.security.tls.certificateAuthorities.{i}", r) for i, r in enumerate(authorities)]
    for path, resource in (*merge, ("$.ignition.config.replace", ignition.config.replace), *tls):
        url = urls.parse(resource.source or "")
        if url is not None and url.scheme == "arn":
            yield Loss(f"{_33} arn: scheme for s3 is not supported in spec v3.3", f"{path}.source")
    lists: dict[str, tuple[t.Directory | t.File, ...]] = {
        "directories": config.storage.directories,
        "files": config.storage.files,
    }
    for key, nodes in lists.items():
        for index, node in enumerate(nodes):
            if (node.mode or 0) & _SPECIAL_BITS:
                path = f"$.storage.{key}.{index}.mode"
                yield Loss(f"{_33} special mode bits are not supported in spec v3.3", path)
    for index, luks in enumerate(config.storage.luks):
        yield from _luks_losses_33(luks, f"$.storage.luks.{index}")


_33 = "Invalid input config:"


def _luks_losses_33(luks: t.Luks, path: str) -> Iterator[Loss]:
    if luks.discard:
        yield Loss(f"{_33} luks discard is not supported in spec v3.3", f"{path}.discard")
    if luks.open_options:
        yield Loss(f"{_33} luks openOptions is not supported in spec v3.3", f"{path}.openOptions")
    for index, tang in enumerate(luks.clevis.tang):
        if tang.advertisement:
            message = f"{_33} tang offline provisioning is not supported in spec v3.3"
            yield Loss(message, f"{path}.clevis.tang.{index}.advertisement")


def _to_33(config: t.Config) -> t.Config:
    return _with_luks(config, _luks_33)


def _luks_33(luks: t.Luks) -> t.Luks:
    tang = tuple(replace(server, advertisement=None) for server in luks.clevis.tang)
    return replace(luks, clevis=replace(luks.clevis, tang=tang), discard=None)


def _losses_32(config: t.Config) -> Iterator[Loss]:
    if config.kernel_arguments.should_exist or config.kernel_arguments.should_not_exist:
        yield Loss("KernelArguments is not supported on 3.2", "$.kernelArguments")


def _to_32(config: t.Config) -> t.Config:
    return _with_luks(replace(config, kernel_arguments=t.KernelArguments()), _luks_32)


def _luks_32(luks: t.Luks) -> t.Luks:
    """The custom config's fields were no optional values then."""
    custom = luks.clevis.custom
    if custom == t.ClevisCustom():
        return luks
    filled = replace(custom, config=custom.config or "", pin=custom.pin or "")
    return replace(luks, clevis=replace(luks.clevis, custom=filled))


def _losses_31(config: t.Config) -> Iterator[Loss]:
    if config.storage.luks:
        yield Loss("LUKS is not supported on 3.1", "$.storage.luks")
    people: dict[str, tuple[t.PasswdUser | t.PasswdGroup, ...]] = {
        "Users": config.passwd.users,
        "Groups": config.passwd.groups,
    }
    for key, persons in people.items():
        for index, person in enumerate(persons):
            if person.should_exist is False:
                path = f"$.passwd.{key.lower()}.{index}.shouldExist"
                yield Loss(f"ShouldExist in Passwd.{key} is not supported on 3.1", path)
    for index, disk in enumerate(config.storage.disks):
        for number, partition in enumerate(disk.partitions):
            if partition.resize:
                path = f"$.storage.disks.{index}.partitions.{number}.resize"
                yield Loss("Resize in Storage.Disks.Partitions is not supported on 3.1", path)


def _to_31(config: t.Config) -> t.Config:
    passwd = replace(
        config.passwd,
        groups=tuple(replace(group, should_exist=None) for group in config.passwd.groups),
        users=tuple(replace(user, should_exist=None) for user in config.passwd.users),
    )
    storage = replace(config.storage, disks=tuple(_disk_31(disk) for disk in config.storage.disks))
    return replace(config, passwd=passwd, storage=storage)


def _disk_31(disk: t.Disk) -> t.Disk:
    return replace(disk, partitions=tuple(replace(partition, resize=None) for partition in disk.partitions))


_STEPS = (
    _Step(4, _nothing, _drop_cex),
    _Step(3, _losses_33, _to_33),
    _Step(2, _losses_32, _to_32),
    _Step(1, _losses_31, _to_31),
)
_TARGETS = (*(Version(3, step.minor, 0) for step in _STEPS), Version(2, 2, 0))
