"""The Ignition 2.2.0 config as frozen structs; 2.1.0 and 2.0.0 are read into the same.

Strings, numbers and booleans are plain values here, written only when they are not empty; what may be absent
as a whole is `X | None`. Fields stand in the order of the original's structs.
"""

from __future__ import annotations

import msgspec

VERSION = "2.2.0"


class V2Struct(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
    rename="camel",
):
    """Base of every part of a config."""


class Verification(V2Struct, frozen=True, kw_only=True):
    hash: str | None = None


class Reference(V2Struct, frozen=True, kw_only=True):
    """Another config, or a certificate authority."""

    source: str = ""
    verification: Verification = Verification()


class IgnitionConfig(V2Struct, frozen=True, kw_only=True):
    append: tuple[Reference, ...] = ()
    replace: Reference | None = None


class TLS(V2Struct, frozen=True, kw_only=True):
    certificate_authorities: tuple[Reference, ...] = ()


class Security(V2Struct, frozen=True, kw_only=True):
    tls: TLS = TLS()


class Timeouts(V2Struct, frozen=True, kw_only=True):
    http_response_headers: int | None = None
    http_total: int | None = None


class Ignition(V2Struct, frozen=True, kw_only=True):
    config: IgnitionConfig = IgnitionConfig()
    security: Security = Security()
    timeouts: Timeouts = Timeouts()
    version: str = ""


class NetworkdDropin(V2Struct, frozen=True, kw_only=True):
    contents: str = ""
    name: str = ""


class NetworkdUnit(V2Struct, frozen=True, kw_only=True):
    contents: str = ""
    dropins: tuple[NetworkdDropin, ...] = ()
    name: str = ""


class Networkd(V2Struct, frozen=True, kw_only=True):
    units: tuple[NetworkdUnit, ...] = ()


class PasswdGroup(V2Struct, frozen=True, kw_only=True):
    gid: int | None = None
    name: str = ""
    password_hash: str = ""
    system: bool = False


class UserCreate(V2Struct, frozen=True, kw_only=True):
    gecos: str = ""
    groups: tuple[str, ...] = ()
    home_dir: str = ""
    no_create_home: bool = False
    no_log_init: bool = False
    no_user_group: bool = False
    primary_group: str = ""
    shell: str = ""
    system: bool = False
    uid: int | None = None


class PasswdUser(V2Struct, frozen=True, kw_only=True):
    create: UserCreate | None = None
    gecos: str = ""
    groups: tuple[str, ...] = ()
    home_dir: str = ""
    name: str = ""
    no_create_home: bool = False
    no_log_init: bool = False
    no_user_group: bool = False
    password_hash: str | None = None
    primary_group: str = ""
    ssh_authorized_keys: tuple[str, ...] = ()
    shell: str = ""
    system: bool = False
    uid: int | None = None


class Passwd(V2Struct, frozen=True, kw_only=True):
    groups: tuple[PasswdGroup, ...] = ()
    users: tuple[PasswdUser, ...] = ()


class Owner(V2Struct, frozen=True, kw_only=True):
    """The user or group of a node."""

    id: int | None = None
    name: str = ""


class Node(V2Struct, frozen=True, kw_only=True):
    """What files, directories and links share."""

    filesystem: str = ""
    group: Owner | None = None
    overwrite: bool | None = None
    path: str = ""
    user: Owner | None = None


class Directory(Node, frozen=True, kw_only=True):
    mode: int | None = None


class FileContents(V2Struct, frozen=True, kw_only=True):
    compression: str = ""
    source: str = ""
    verification: Verification = Verification()


class File(Node, frozen=True, kw_only=True):
    append: bool = False
    contents: FileContents = FileContents()
    mode: int | None = None


class Link(Node, frozen=True, kw_only=True):
    hard: bool = False
    target: str = ""


class Partition(V2Struct, frozen=True, kw_only=True):
    guid: str = ""
    label: str = ""
    number: int = 0
    size: int = 0
    start: int = 0
    type_guid: str = ""


class Disk(V2Struct, frozen=True, kw_only=True):
    device: str = ""
    partitions: tuple[Partition, ...] = ()
    wipe_table: bool = False


class Create(V2Struct, frozen=True, kw_only=True):
    force: bool = False
    options: tuple[str, ...] = ()


class Mount(V2Struct, frozen=True, kw_only=True):
    create: Create | None = None
    device: str = ""
    format: str = ""
    label: str | None = None
    options: tuple[str, ...] = ()
    uuid: str | None = None
    wipe_filesystem: bool = False


class Filesystem(V2Struct, frozen=True, kw_only=True):
    mount: Mount | None = None
    name: str = ""
    path: str | None = None


class Raid(V2Struct, frozen=True, kw_only=True):
    devices: tuple[str, ...] = ()
    level: str = ""
    name: str = ""
    options: tuple[str, ...] = ()
    spares: int = 0


class Storage(V2Struct, frozen=True, kw_only=True):
    directories: tuple[Directory, ...] = ()
    disks: tuple[Disk, ...] = ()
    files: tuple[File, ...] = ()
    filesystems: tuple[Filesystem, ...] = ()
    links: tuple[Link, ...] = ()
    raid: tuple[Raid, ...] = ()


class Dropin(V2Struct, frozen=True, kw_only=True):
    contents: str = ""
    name: str = ""


class Unit(V2Struct, frozen=True, kw_only=True):
    contents: str = ""
    dropins: tuple[Dropin, ...] = ()
    enable: bool = False
    enabled: bool | None = None
    mask: bool = False
    name: str = ""


class Systemd(V2Struct, frozen=True, kw_only=True):
    units: tuple[Unit, ...] = ()


class Config(V2Struct, frozen=True, kw_only=True):
    ignition: Ignition = Ignition()
    networkd: Networkd = Networkd()
    passwd: Passwd = Passwd()
    storage: Storage = Storage()
    systemd: Systemd = Systemd()


SINCE: dict[tuple[type, str], int] = {
    (Config, "networkd"): 0,
    (Ignition, "security"): 2,
    (Ignition, "timeouts"): 1,
    (NetworkdUnit, "dropins"): 2,
    (Owner, "name"): 1,
    (Node, "overwrite"): 2,
    (File, "append"): 2,
    (Storage, "directories"): 1,
    (Storage, "links"): 1,
    (Raid, "options"): 2,
    (Mount, "label"): 1,
    (Mount, "options"): 1,
    (Mount, "uuid"): 1,
    (Mount, "wipe_filesystem"): 1,
    (PasswdUser, "gecos"): 1,
    (PasswdUser, "groups"): 1,
    (PasswdUser, "home_dir"): 1,
    (PasswdUser, "no_create_home"): 1,
    (PasswdUser, "no_log_init"): 1,
    (PasswdUser, "no_user_group"): 1,
    (PasswdUser, "primary_group"): 1,
    (PasswdUser, "shell"): 1,
    (PasswdUser, "system"): 1,
    (PasswdUser, "uid"): 1,
    (Unit, "enabled"): 1,
}
"""The 2.x minor version that introduced a key; everything else is there since 2.0."""
