"""Writes a config in spec 2.2 for clients of that age (spec/render.md 8.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mco.ignition import types as t
from mco.ignition.v2 import types as v2

Refuse = Callable[[str, str], Exception]

_ROOT = "root"


def down(config: t.Config, refuse: Refuse) -> v2.Config:
    """A valid 3.2 config as 2.2; `refuse(text, path)` makes the exception for what cannot be said."""
    for text, path in _losses(config):
        raise refuse(f"{text} supported on 2.2", path)
    mounts = tuple(f.path for f in config.storage.filesystems if f.path is not None)
    return v2.Config(
        ignition=_ignition(config.ignition),
        passwd=_passwd(config.passwd),
        storage=_storage(config.storage, mounts),
        systemd=v2.Systemd(units=tuple(_unit(unit) for unit in config.systemd.units)),
    )


def _losses(config: t.Config) -> Iterator[tuple[str, str]]:
    """What 2.2 does not know, in the original's order and words."""
    yield from _reference_losses(config.ignition)
    storage = config.storage
    if storage.luks:
        yield "LUKS is not", "$.storage.luks"
    people: dict[str, tuple[t.PasswdUser | t.PasswdGroup, ...]] = {
        "Users": config.passwd.users,
        "Groups": config.passwd.groups,
    }
    for key, persons in people.items():
        for index, person in enumerate(persons):
            if person.should_exist is False:
                yield f"ShouldExist in Passwd.{key} is not", f"$.passwd.{key.lower()}.{index}.shouldExist"
    for index, disk in enumerate(storage.disks):
        yield from _partition_losses(disk, f"$.storage.disks.{index}.partitions")
    for index, filesystem in enumerate(storage.filesystems):
        if filesystem.mount_options:
            yield "MountOptions in Storage.Filesystems is not", f"$.storage.filesystems.{index}.mountOptions"
    for index, file in enumerate(storage.files):
        path = f"$.storage.files.{index}"
        if file.contents.http_headers:
            yield "HTTPHeaders in Storage.Files.Contents are not", f"{path}.contents.httpHeaders"
        if any(resource.http_headers for resource in file.append):
            yield "HTTPHeaders in Storage.Files.Append.* are not", f"{path}.append"


def _reference_losses(ignition: t.Ignition) -> Iterator[tuple[str, str]]:
    merge = [("Config.Merge", r, f"$.ignition.config.merge.{i}") for i, r in enumerate(ignition.config.merge)]
    replace = [("Config.Replace", ignition.config.replace, "$.ignition.config.replace")]
    authorities = [
        ("Security.TLS.CertificateAuthorities", r, f"$.ignition.security.tls.certificateAuthorities.{i}")
        for i, r in enumerate(ignition.security.tls.certificate_authorities)
    ]
    for name, resource, path in (*merge, *replace, *authorities):
        if resource.compression is not None:
            yield f"Compression in Ignition.{name} is not", f"{path}.compression"
        if resource.http_headers:
            yield f"HTTPHeaders in Ignition.{name} are not", f"{path}.httpHeaders"
    if ignition.proxy != t.Proxy():
        yield "HTTP proxies in Ignition.Proxy are not", "$.ignition.proxy"


def _partition_losses(disk: t.Disk, path: str) -> Iterator[tuple[str, str]]:
    for index, partition in enumerate(disk.partitions):
        if partition.size_mib is not None or partition.start_mib is not None:
            yield "SizeMiB and StartMiB in Storage.Disks.Partitions is not", f"{path}.{index}"
        if partition.resize:
            yield "Resize in Storage.Disks.Partitions is not", f"{path}.{index}.resize"


def _ignition(ignition: t.Ignition) -> v2.Ignition:
    replace = ignition.config.replace
    return v2.Ignition(
        config=v2.IgnitionConfig(
            append=tuple(_reference(resource) for resource in ignition.config.merge),
            replace=_reference(replace) if replace.source is not None else None,
        ),
        security=v2.Security(
            tls=v2.TLS(
                certificate_authorities=tuple(
                    _reference(resource) for resource in ignition.security.tls.certificate_authorities
                )
            )
        ),
        timeouts=v2.Timeouts(
            http_response_headers=ignition.timeouts.http_response_headers,
            http_total=ignition.timeouts.http_total,
        ),
        version=v2.VERSION,
    )


def _reference(resource: t.Resource) -> v2.Reference:
    verification = v2.Verification(hash=resource.verification.hash)
    return v2.Reference(source=resource.source or "", verification=verification)


def _passwd(passwd: t.Passwd) -> v2.Passwd:
    groups = tuple(
        v2.PasswdGroup(
            gid=group.gid,
            name=group.name,
            password_hash=group.password_hash or "",
            system=bool(group.system),
        )
        for group in passwd.groups
    )
    return v2.Passwd(groups=groups, users=tuple(_user(user) for user in passwd.users))


def _user(user: t.PasswdUser) -> v2.PasswdUser:
    return v2.PasswdUser(
        gecos=user.gecos or "",
        groups=user.groups,
        home_dir=user.home_dir or "",
        name=user.name,
        no_create_home=bool(user.no_create_home),
        no_log_init=bool(user.no_log_init),
        no_user_group=bool(user.no_user_group),
        password_hash=user.password_hash,
        primary_group=user.primary_group or "",
        ssh_authorized_keys=user.ssh_authorized_keys,
        shell=user.shell or "",
        system=bool(user.system),
        uid=user.uid,
    )


def _storage(storage: t.Storage, mounts: tuple[str, ...]) -> v2.Storage:
    return v2.Storage(
        directories=tuple(_directory(directory, mounts) for directory in storage.directories),
        disks=tuple(_disk(disk) for disk in storage.disks),
        files=tuple(part for file in storage.files for part in _file(file, mounts)),
        filesystems=tuple(_filesystems(storage.filesystems)),
        links=tuple(_link(link, mounts) for link in storage.links),
        raid=tuple(_raid(raid) for raid in storage.raid),
    )


def _place(path: str, mounts: tuple[str, ...]) -> tuple[str, str]:
    """The filesystem that a path lies in (named by its path, the longest wins) and the path in there."""
    inside = [mount for mount in mounts if mount and path.startswith(mount)]
    if not inside:
        return _ROOT, path
    mount = max(inside, key=len)
    return mount, path[len(mount) :]


def _directory(directory: t.Directory, mounts: tuple[str, ...]) -> v2.Directory:
    filesystem, path = _place(directory.path, mounts)
    return v2.Directory(
        filesystem=filesystem,
        group=_owner(directory.group),
        overwrite=directory.overwrite,
        path=path,
        user=_owner(directory.user),
        mode=directory.mode,
    )


def _link(link: t.Link, mounts: tuple[str, ...]) -> v2.Link:
    filesystem, path = _place(link.path, mounts)
    return v2.Link(
        filesystem=filesystem,
        group=_owner(link.group),
        overwrite=link.overwrite,
        path=path,
        user=_owner(link.user),
        hard=bool(link.hard),
        target=link.target or "",
    )


def _file(file: t.File, mounts: tuple[str, ...]) -> Iterator[v2.File]:
    """The file, when it has contents, and one more for each appendix."""
    overwrite = file.overwrite if file.overwrite is not None else False
    if file.contents.source is not None:
        yield _one_file(file, mounts, file.contents, overwrite=overwrite, append=False)
    for resource in file.append:
        yield _one_file(file, mounts, resource, overwrite=False, append=True)


def _one_file(
    file: t.File, mounts: tuple[str, ...], resource: t.Resource, *, overwrite: bool, append: bool
) -> v2.File:
    filesystem, path = _place(file.path, mounts)
    return v2.File(
        filesystem=filesystem,
        group=_owner(file.group),
        overwrite=overwrite,
        path=path,
        user=_owner(file.user),
        append=append,
        contents=v2.FileContents(
            compression=resource.compression or "",
            source=resource.source or "",
            verification=v2.Verification(hash=resource.verification.hash),
        ),
        mode=file.mode,
    )


def _owner(owner: t.NodeUser | t.NodeGroup) -> v2.Owner | None:
    if owner.id is None and owner.name is None:
        return None
    return v2.Owner(id=owner.id, name=owner.name or "")


def _disk(disk: t.Disk) -> v2.Disk:
    partitions = tuple(
        v2.Partition(
            guid=partition.guid or "",
            label=partition.label or "",
            number=partition.number,
            type_guid=partition.type_guid or "",
        )
        for partition in disk.partitions
    )
    return v2.Disk(device=disk.device, partitions=partitions, wipe_table=bool(disk.wipe_table))


def _filesystems(filesystems: tuple[t.Filesystem, ...]) -> Iterator[v2.Filesystem]:
    """Named by their paths, those without one by numbers."""
    unnamed = 0
    for filesystem in filesystems:
        if filesystem.path is None:
            unnamed += 1
        yield v2.Filesystem(
            mount=v2.Mount(
                device=filesystem.device,
                format=filesystem.format or "",
                label=filesystem.label,
                options=filesystem.options,
                uuid=filesystem.uuid,
                wipe_filesystem=bool(filesystem.wipe_filesystem),
            ),
            name=filesystem.path if filesystem.path is not None else str(unnamed),
        )


def _raid(raid: t.Raid) -> v2.Raid:
    return v2.Raid(
        devices=raid.devices,
        level=raid.level or "",
        name=raid.name,
        options=raid.options,
        spares=raid.spares or 0,
    )


def _unit(unit: t.Unit) -> v2.Unit:
    return v2.Unit(
        contents=unit.contents or "",
        dropins=tuple(v2.Dropin(contents=d.contents or "", name=d.name) for d in unit.dropins),
        enabled=unit.enabled,
        mask=bool(unit.mask),
        name=unit.name,
    )
