"""Brings a 2.2 config to 3.5, as far as that can be said there (spec/render.md 8.2)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import msgspec

from mco.ignition import types as t
from mco.ignition.report import OK, Report
from mco.ignition.v2 import types as v2
from mco.ignition.v2.errors import ConversionError
from mco.ignition.v2.rules import validate as validate2
from mco.ignition.validate import validate

WRAP = "failed to convert Ignition config spec v2 to v3: unable to convert Ignition spec v2 config to v3: "
_SPEC30 = 0
_ROOT = "root"


_HINT = "write the config in Ignition spec 3"


def up(config: v2.Config) -> t.Config:
    """Raises ConversionError for what has no counterpart."""
    _check(config)
    translated = t.Config(
        ignition=_ignition(config.ignition),
        passwd=_passwd(config.passwd),
        storage=_storage(config.storage),
        systemd=t.Systemd(units=tuple(_unit(unit) for unit in config.systemd.units)),
    )
    report = validate(_as_30(translated), _SPEC30)
    if report.fatal:
        raise _refusal(str(report), report=report)
    return translated


def _refusal(message: str, path: str = "", report: Report = OK) -> ConversionError:
    return ConversionError(WRAP + message, path=path, report=report, hint=_HINT)


def _as_30(config: t.Config) -> t.Config:
    ignition = msgspec.structs.replace(config.ignition, version="3.0.0")
    return msgspec.structs.replace(config, ignition=ignition)


def _check(config: v2.Config) -> None:
    report = validate2(config)
    partitions = [f"$.storage.disks.{i}" for i, disk in enumerate(config.storage.disks) if disk.partitions]
    if report.fatal:
        raise _refusal(f"Invalid input config:\n{report}", report=report)
    if partitions:
        fields = ("size", "start")
        text = "\n".join(f"deprecated: {field} is deprecated; use {field}MB instead" for field in fields)
        raise _refusal(f"Invalid input config:\n{text}", partitions[0])
    if config.networkd.units:
        raise _refusal("config includes deprecated networkd section - use Files instead", "$.networkd")
    for index, filesystem in enumerate(config.storage.filesystems):
        _check_filesystem(filesystem, f"$.storage.filesystems.{index}")
    _check_nodes(config.storage)
    _check_names(config.systemd)


def _check_filesystem(filesystem: v2.Filesystem, path: str) -> None:
    if filesystem.name != _ROOT:
        raise _refusal(
            f'Config defined filesystem "{filesystem.name}" but no mapping was defined.'
            "Please specify a path to be used as the filesystem mountpoint.",
            path,
        )
    create = filesystem.mount.create if filesystem.mount is not None else None
    if create is not None and not create.force:
        raise _refusal(
            "Config must force filesystem creation in case `mount.create` object is defined.", path
        )


def _check_nodes(storage: v2.Storage) -> None:
    """Each path once, and none below a link that the config itself writes."""
    links = [_path(link) for link in storage.links]
    entries: dict[str, str] = {}
    for word, node in _nodes(storage):
        path = _path(node)
        name = f"{word}: {path}"
        if path in entries:
            raise _refusal(
                f'Config has conflicting inodes: "{entries[path]}" and "{name}".  '
                "All files, directories and links must specify a unique `path`.",
                "$.storage",
            )
        for link in links:
            if path.startswith(link) and path != link:
                raise _refusal(
                    f'{name} uses link defined in config "{link}". '
                    "Please use a link not defined in Storage:Links",
                    "$.storage",
                )
        entries[path] = name


def _nodes(storage: v2.Storage) -> Iterator[tuple[str, v2.Node]]:
    for word, nodes in (("File", storage.files), ("Directory", storage.directories), ("Link", storage.links)):
        for node in nodes:
            yield word, node


def _check_names(systemd: v2.Systemd) -> None:
    names: set[str] = set()
    for index, unit in enumerate(systemd.units):
        if unit.name in names:
            raise _refusal(
                f'Config has duplicate unit name "{unit.name}".  All units must specify a unique `name`.',
                f"$.systemd.units.{index}",
            )
        names.add(unit.name)
        dropins: set[str] = set()
        for dropin in unit.dropins:
            if dropin.name in dropins:
                raise _refusal(
                    f'Config has duplicate dropin name "{dropin.name}" in unit "{unit.name}".  '
                    "All dropins must specify a unique `name`.",
                    f"$.systemd.units.{index}.dropins",
                )
            dropins.add(dropin.name)


def _path(node: v2.Node) -> str:
    """A node's path in the only filesystem that is supported, simplified."""
    return "/" + posixpath.normpath("/" + node.path).lstrip("/")


def _ignition(ignition: v2.Ignition) -> t.Ignition:
    replace = ignition.config.replace
    return t.Ignition(
        config=t.IgnitionConfig(
            merge=tuple(_reference(reference) for reference in ignition.config.append),
            replace=_reference(replace) if replace is not None else t.Resource(),
        ),
        security=t.Security(
            tls=t.TLS(
                certificate_authorities=tuple(
                    _reference(authority) for authority in ignition.security.tls.certificate_authorities
                )
            )
        ),
        timeouts=t.Timeouts(
            http_response_headers=ignition.timeouts.http_response_headers,
            http_total=ignition.timeouts.http_total,
        ),
        version=t.VERSION,
    )


def _reference(reference: v2.Reference) -> t.Resource:
    return t.Resource(source=reference.source, verification=t.Verification(hash=reference.verification.hash))


def _passwd(passwd: v2.Passwd) -> t.Passwd:
    return t.Passwd(
        groups=tuple(
            t.PasswdGroup(
                gid=group.gid,
                name=group.name,
                password_hash=group.password_hash or None,
                system=group.system or None,
            )
            for group in passwd.groups
        ),
        users=tuple(_user(user) for user in passwd.users),
    )


def _user(user: v2.PasswdUser) -> t.PasswdUser:
    return t.PasswdUser(
        gecos=user.gecos or None,
        groups=user.groups,
        home_dir=user.home_dir or None,
        name=user.name,
        no_create_home=user.no_create_home or None,
        no_log_init=user.no_log_init or None,
        no_user_group=user.no_user_group or None,
        password_hash=user.password_hash,
        primary_group=user.primary_group or None,
        ssh_authorized_keys=user.ssh_authorized_keys,
        shell=user.shell or None,
        system=user.system or None,
        uid=user.uid,
    )


def _storage(storage: v2.Storage) -> t.Storage:
    return t.Storage(
        directories=tuple(
            t.Directory(group=_group(d), overwrite=d.overwrite, path=_path(d), user=_owner(d), mode=d.mode)
            for d in storage.directories
        ),
        disks=tuple(t.Disk(device=d.device, wipe_table=d.wipe_table or None) for d in storage.disks),
        files=tuple(_file(file) for file in storage.files),
        links=tuple(
            t.Link(
                group=_group(link),
                overwrite=link.overwrite,
                path=_path(link),
                user=_owner(link),
                hard=link.hard or None,
                target=link.target,
            )
            for link in storage.links
        ),
        raid=tuple(
            t.Raid(devices=r.devices, level=r.level, name=r.name, options=r.options, spares=r.spares or None)
            for r in storage.raid
        ),
    )


def _file(file: v2.File) -> t.File:
    """Files of spec 2 overwrite unless they say otherwise; appending ones must not."""
    contents = t.Resource(
        compression=file.contents.compression or None,
        source=file.contents.source,
        verification=t.Verification(hash=file.contents.verification.hash),
    )
    overwrite = False if file.append else file.overwrite if file.overwrite is not None else True
    return t.File(
        group=_group(file),
        overwrite=overwrite,
        path=_path(file),
        user=_owner(file),
        append=(contents,) if file.append else (),
        contents=t.Resource() if file.append else contents,
        mode=file.mode,
    )


def _owner(node: v2.Node) -> t.NodeUser:
    owner = node.user or v2.Owner()
    return t.NodeUser(id=owner.id, name=owner.name or None)


def _group(node: v2.Node) -> t.NodeGroup:
    owner = node.group or v2.Owner()
    return t.NodeGroup(id=owner.id, name=owner.name or None)


def _unit(unit: v2.Unit) -> t.Unit:
    enabled = unit.enabled if unit.enabled is not None else (unit.enable or None)
    return t.Unit(
        contents=unit.contents or None,
        dropins=tuple(t.Dropin(contents=d.contents or None, name=d.name) for d in unit.dropins),
        enabled=enabled,
        mask=unit.mask or None,
        name=unit.name,
    )
