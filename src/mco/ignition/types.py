"""The Ignition 3.5.0 config as frozen structs.

Fields stand in the order in which the original writes them (its structs are alphabetical, embedded parts
first), so that encoded bytes agree. `X | None` is a value that may be absent; a field without a default is
always written, even when it is empty, and a struct whose fields are all at their defaults is written only as
the element of a list (spec/render.md 1.7, 1.8). Decoding is strict: `parse` brings loose documents (other
spelling of keys, nulls, missing required keys) into this shape first (spec/render.md 8.1).
"""

from __future__ import annotations

import msgspec

VERSION = "3.5.0"


class IgnitionStruct(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
    rename="camel",
):
    """Base of every part of a config."""


class HTTPHeader(IgnitionStruct, frozen=True, kw_only=True):
    name: str
    value: str | None = None


class Verification(IgnitionStruct, frozen=True, kw_only=True):
    hash: str | None = None


class Resource(IgnitionStruct, frozen=True, kw_only=True):
    compression: str | None = None
    http_headers: tuple[HTTPHeader, ...] = ()
    source: str | None = None
    verification: Verification = Verification()


class IgnitionConfig(IgnitionStruct, frozen=True, kw_only=True):
    merge: tuple[Resource, ...] = ()
    replace: Resource = Resource()


class Proxy(IgnitionStruct, frozen=True, kw_only=True):
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: tuple[str, ...] = ()


class TLS(IgnitionStruct, frozen=True, kw_only=True):
    certificate_authorities: tuple[Resource, ...] = ()


class Security(IgnitionStruct, frozen=True, kw_only=True):
    tls: TLS = TLS()


class Timeouts(IgnitionStruct, frozen=True, kw_only=True):
    http_response_headers: int | None = None
    http_total: int | None = None


class Ignition(IgnitionStruct, frozen=True, kw_only=True):
    config: IgnitionConfig = IgnitionConfig()
    proxy: Proxy = Proxy()
    security: Security = Security()
    timeouts: Timeouts = Timeouts()
    version: str


class KernelArguments(IgnitionStruct, frozen=True, kw_only=True):
    should_exist: tuple[str, ...] = ()
    should_not_exist: tuple[str, ...] = ()


class PasswdGroup(IgnitionStruct, frozen=True, kw_only=True):
    gid: int | None = None
    name: str
    password_hash: str | None = None
    should_exist: bool | None = None
    system: bool | None = None


class PasswdUser(IgnitionStruct, frozen=True, kw_only=True):
    gecos: str | None = None
    groups: tuple[str, ...] = ()
    home_dir: str | None = None
    name: str
    no_create_home: bool | None = None
    no_log_init: bool | None = None
    no_user_group: bool | None = None
    password_hash: str | None = None
    primary_group: str | None = None
    ssh_authorized_keys: tuple[str, ...] = ()
    shell: str | None = None
    should_exist: bool | None = None
    system: bool | None = None
    uid: int | None = None


class Passwd(IgnitionStruct, frozen=True, kw_only=True):
    groups: tuple[PasswdGroup, ...] = ()
    users: tuple[PasswdUser, ...] = ()


class NodeGroup(IgnitionStruct, frozen=True, kw_only=True):
    id: int | None = None
    name: str | None = None


class NodeUser(IgnitionStruct, frozen=True, kw_only=True):
    id: int | None = None
    name: str | None = None


class Node(IgnitionStruct, frozen=True, kw_only=True):
    """What files, directories and links share (an inode, not a Kubernetes Node)."""

    group: NodeGroup = NodeGroup()
    overwrite: bool | None = None
    path: str
    user: NodeUser = NodeUser()


class Directory(Node, frozen=True, kw_only=True):
    mode: int | None = None


class File(Node, frozen=True, kw_only=True):
    append: tuple[Resource, ...] = ()
    contents: Resource = Resource()
    mode: int | None = None


class Link(Node, frozen=True, kw_only=True):
    hard: bool | None = None
    target: str | None = None


class Partition(IgnitionStruct, frozen=True, kw_only=True):
    guid: str | None = None
    label: str | None = None
    number: int = 0
    resize: bool | None = None
    should_exist: bool | None = None
    size_mib: int | None = msgspec.field(default=None, name="sizeMiB")
    start_mib: int | None = msgspec.field(default=None, name="startMiB")
    type_guid: str | None = None
    wipe_partition_entry: bool | None = None


class Disk(IgnitionStruct, frozen=True, kw_only=True):
    device: str
    partitions: tuple[Partition, ...] = ()
    wipe_table: bool | None = None


class Filesystem(IgnitionStruct, frozen=True, kw_only=True):
    device: str
    format: str | None = None
    label: str | None = None
    mount_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    path: str | None = None
    uuid: str | None = None
    wipe_filesystem: bool | None = None


class Cex(IgnitionStruct, frozen=True, kw_only=True):
    enabled: bool | None = None


class ClevisCustom(IgnitionStruct, frozen=True, kw_only=True):
    config: str | None = None
    needs_network: bool | None = None
    pin: str | None = None


class Tang(IgnitionStruct, frozen=True, kw_only=True):
    advertisement: str | None = None
    thumbprint: str | None = None
    url: str = ""


class Clevis(IgnitionStruct, frozen=True, kw_only=True):
    custom: ClevisCustom = ClevisCustom()
    tang: tuple[Tang, ...] = ()
    threshold: int | None = None
    tpm2: bool | None = None


class Luks(IgnitionStruct, frozen=True, kw_only=True):
    cex: Cex = Cex()
    clevis: Clevis = Clevis()
    device: str | None = None
    discard: bool | None = None
    key_file: Resource = Resource()
    label: str | None = None
    name: str
    open_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    uuid: str | None = None
    wipe_volume: bool | None = None


class Raid(IgnitionStruct, frozen=True, kw_only=True):
    devices: tuple[str, ...] = ()
    level: str | None = None
    name: str
    options: tuple[str, ...] = ()
    spares: int | None = None


class Storage(IgnitionStruct, frozen=True, kw_only=True):
    directories: tuple[Directory, ...] = ()
    disks: tuple[Disk, ...] = ()
    files: tuple[File, ...] = ()
    filesystems: tuple[Filesystem, ...] = ()
    links: tuple[Link, ...] = ()
    luks: tuple[Luks, ...] = ()
    raid: tuple[Raid, ...] = ()


class Dropin(IgnitionStruct, frozen=True, kw_only=True):
    contents: str | None = None
    name: str


class Unit(IgnitionStruct, frozen=True, kw_only=True):
    contents: str | None = None
    dropins: tuple[Dropin, ...] = ()
    enabled: bool | None = None
    mask: bool | None = None
    name: str


class Systemd(IgnitionStruct, frozen=True, kw_only=True):
    units: tuple[Unit, ...] = ()


class Config(IgnitionStruct, frozen=True, kw_only=True):
    ignition: Ignition
    kernel_arguments: KernelArguments = KernelArguments()
    passwd: Passwd = Passwd()
    storage: Storage = Storage()
    systemd: Systemd = Systemd()


EMPTY = Config(ignition=Ignition(version=VERSION))
"""The config of a MachineConfig that has none (spec/render.md 1.8)."""
