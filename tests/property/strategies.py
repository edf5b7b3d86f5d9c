"""Hypothesis strategies for Ignition configs, the one home for all tests that need them.

`configs()` gives anything that the structs can hold, with few distinct keys so that elements meet when
configs are merged; most of it breaks some rule. `valid_configs()` gives configs that pass every rule of
every 3.x version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

from mco.ignition import types as t
from mco.ignition.schema import key_of

S = TypeVar("S")

flags = st.none() | st.booleans()
texts = st.none() | st.sampled_from(("", "x", "y"))
numbers = st.none() | st.integers(0, 3)
names = st.sampled_from(("a", "b", "c"))


def listed(elements: st.SearchStrategy[S], most: int = 3) -> st.SearchStrategy[tuple[S, ...]]:
    """A list of elements with distinct keys."""
    return st.lists(elements, max_size=most, unique_by=key_of).map(tuple)


def repeated(elements: st.SearchStrategy[S], most: int = 3) -> st.SearchStrategy[tuple[S, ...]]:
    """A list in which elements may stand twice."""
    return st.lists(elements, max_size=most).map(tuple)


def default_or(strategy: st.SearchStrategy[S], default: S) -> st.SearchStrategy[S]:
    return st.just(default) | strategy


sources = st.none() | st.sampled_from(
    (
        "data:,a",
        "data:,b",
        "data:;base64,aGk=",
        "http://h/x",
        "s3://b/k",
        "gs://b/k",
        "arn:aws:s3:::b/k",
        "",
        "x:y",
    )
)
headers = st.builds(t.HTTPHeader, name=names, value=texts)
verifications = st.builds(t.Verification, hash=st.none() | st.just("sha512-" + "0" * 128) | st.just("md5-0"))
resources = st.builds(
    t.Resource,
    compression=st.none() | st.sampled_from(("", "gzip", "xz")),
    http_headers=listed(headers, 2),
    source=sources,
    verification=default_or(verifications, t.Verification()),
)
users = default_or(st.builds(t.NodeUser, id=numbers, name=texts), t.NodeUser())
groups = default_or(st.builds(t.NodeGroup, id=numbers, name=texts), t.NodeGroup())
paths = st.sampled_from(("/a", "/b", "/c", "/a/b", "/c/d", "/etc/systemd/system/a.service", "relative", ""))
node: dict[str, st.SearchStrategy[Any]] = {"group": groups, "overwrite": flags, "path": paths, "user": users}
modes = st.none() | st.sampled_from((0, 0o644, 0o755, 0o1777, 0o10000, -1))
directories = st.builds(t.Directory, **node, mode=modes)
files = st.builds(
    t.File,
    **node,
    append=repeated(resources, 2),
    contents=default_or(resources, t.Resource()),
    mode=modes,
)
links = st.builds(t.Link, **node, hard=flags, target=st.none() | st.sampled_from(("/a", "b", "")))
partitions = st.builds(
    t.Partition,
    guid=texts,
    label=st.none() | st.sampled_from(("x", "y", "a:b", "l" * 37)),
    number=st.integers(0, 3),
    resize=flags,
    should_exist=flags,
    size_mib=numbers,
    start_mib=numbers,
    type_guid=texts,
    wipe_partition_entry=flags,
)
devices = st.sampled_from(("/dev/a", "/dev/b", "dev", ""))
disks = st.builds(t.Disk, device=devices, partitions=listed(partitions), wipe_table=flags)
filesystems = st.builds(
    t.Filesystem,
    device=devices,
    format=st.none() | st.sampled_from(("ext4", "vfat", "none", "zfs")),
    label=texts,
    mount_options=repeated(names),
    options=repeated(names),
    path=st.none() | paths,
    uuid=texts,
    wipe_filesystem=flags,
)
raids = st.builds(
    t.Raid,
    devices=listed(devices),
    level=st.none() | st.sampled_from(("raid0", "raid1", "x")),
    name=names,
    options=repeated(names),
    spares=numbers,
)
tangs = st.builds(
    t.Tang,
    advertisement=st.none() | st.sampled_from(("{}", "{")),
    thumbprint=texts,
    url=st.sampled_from(("http://t", "https://t", "")),
)
clevises = st.builds(
    t.Clevis,
    custom=default_or(
        st.builds(t.ClevisCustom, config=texts, needs_network=flags, pin=st.none() | st.just("tpm2")),
        t.ClevisCustom(),
    ),
    tang=listed(tangs),
    threshold=numbers,
    tpm2=flags,
)
luks = st.builds(
    t.Luks,
    cex=default_or(st.builds(t.Cex, enabled=flags), t.Cex()),
    clevis=default_or(clevises, t.Clevis()),
    device=st.none() | devices,
    discard=flags,
    key_file=default_or(resources, t.Resource()),
    label=texts,
    name=names,
    open_options=listed(names),
    options=repeated(names),
    uuid=texts,
    wipe_volume=flags,
)
unit_texts = st.none() | st.sampled_from(("", "[Unit]\nA=b\n", "[Install]\nWantedBy=x\n", "[broken"))
dropins = st.builds(t.Dropin, contents=unit_texts, name=st.sampled_from(("10.conf", "20.conf", "x")))
units = st.builds(
    t.Unit,
    contents=unit_texts,
    dropins=listed(dropins),
    enabled=flags,
    mask=flags,
    name=st.sampled_from(("a.service", "b.timer", "c")),
)
passwd_groups = st.builds(
    t.PasswdGroup, gid=numbers, name=names, password_hash=texts, should_exist=flags, system=flags
)
passwd_users = st.builds(
    t.PasswdUser,
    gecos=texts,
    groups=listed(names),
    home_dir=texts,
    name=st.sampled_from(("core", "root")),
    no_create_home=flags,
    no_log_init=flags,
    no_user_group=flags,
    password_hash=texts,
    primary_group=texts,
    ssh_authorized_keys=listed(st.sampled_from(("k1", "k2", "k3"))),
    shell=texts,
    should_exist=flags,
    system=flags,
    uid=numbers,
)


def _apart(**lists: tuple[Any, ...]) -> t.Storage:
    """Files, directories and links share their paths: only the first mention of each stays."""
    seen: set[str] = set()
    for key in ("directories", "files", "links"):
        if key in lists:
            lists[key] = tuple(n for n in lists[key] if n.path not in seen)
            seen |= {n.path for n in lists[key]}
    return t.Storage(**lists)


def chosen(struct: Callable[..., S], most: int, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[S]:
    """A struct of which only a few fields are filled: small examples find mistakes faster."""

    @st.composite
    def build(draw: st.DrawFn) -> S:
        keys = draw(st.lists(st.sampled_from(sorted(parts)), max_size=most, unique=True))
        return struct(**{key: draw(parts[key]) for key in keys})

    return build()


ignitions = chosen(
    lambda **parts: t.Ignition(version=t.VERSION, **parts),
    2,
    config=chosen(t.IgnitionConfig, 2, merge=listed(resources, 2), replace=resources),
    proxy=st.builds(t.Proxy, http_proxy=texts, https_proxy=texts, no_proxy=listed(names)),
    security=st.builds(t.Security, tls=st.builds(t.TLS, certificate_authorities=listed(resources, 2))),
    timeouts=st.builds(t.Timeouts, http_response_headers=numbers, http_total=numbers),
)
storages = chosen(
    _apart,
    2,
    directories=listed(directories, 2),
    disks=listed(disks, 2),
    files=listed(files, 2),
    filesystems=listed(filesystems, 2),
    links=listed(links, 2),
    luks=listed(luks, 2),
    raid=listed(raids, 2),
)
arguments = st.lists(st.sampled_from("pqrs"), max_size=4, unique=True).flatmap(
    lambda chosen: st.integers(0, len(chosen)).map(
        lambda cut: t.KernelArguments(should_exist=tuple(chosen[:cut]), should_not_exist=tuple(chosen[cut:]))
    )
)


def configs() -> st.SearchStrategy[t.Config]:
    """Any config whose list elements have distinct keys; most are invalid in some other way."""
    plain = t.Ignition(version=t.VERSION)

    def build(ignition: t.Ignition = plain, **sections: Any) -> t.Config:
        return t.Config(ignition=ignition, **sections)

    return chosen(
        build,
        2,
        ignition=ignitions,
        kernel_arguments=arguments,
        passwd=chosen(t.Passwd, 2, groups=listed(passwd_groups, 2), users=listed(passwd_users, 2)),
        storage=storages,
        systemd=st.builds(t.Systemd, units=listed(units, 2)),
    )


def valid_configs() -> st.SearchStrategy[t.Config]:
    """Configs that every 3.x parser takes, without anything that a 3.x version introduced later."""
    contents = st.builds(
        t.Resource,
        compression=st.none() | st.sampled_from(("", "gzip")),
        source=st.sampled_from(
            ("data:,", "data:,a%20b", "data:text/plain;charset=utf-8;base64,aGk=", "https://h/x")
        ),
        verification=default_or(st.just(t.Verification(hash="sha512-" + "0" * 128)), t.Verification()),
    )
    owner = st.builds(t.NodeUser, id=numbers) | st.builds(t.NodeUser, name=st.just("core"))
    plain: dict[str, st.SearchStrategy[Any]] = {"user": default_or(owner, t.NodeUser()), "overwrite": flags}
    permissions = st.none() | st.integers(0, 0o777)
    storage = chosen(
        t.Storage,
        2,
        directories=listed(
            st.builds(t.Directory, **plain, path=st.sampled_from(("/d/a", "/d/b")), mode=permissions)
        ),
        files=listed(
            st.builds(
                t.File,
                **plain,
                path=st.sampled_from(("/f/a", "/f/b", "/f/ü <&>\u2028")),
                append=repeated(contents, 2),
                contents=contents,
                mode=permissions,
            )
        ),
        links=listed(
            st.builds(
                t.Link, **plain, path=st.sampled_from(("/l/a", "/l/b")), hard=flags, target=st.just("/f/a")
            )
        ),
        raid=listed(
            st.builds(
                t.Raid,
                devices=st.just(("/dev/a", "/dev/b")),
                level=st.sampled_from(("raid1", "linear")),
                name=names,
                options=repeated(names),
            )
        ),
    )
    unit = st.builds(
        t.Unit,
        contents=st.none() | st.sampled_from(("", "[Unit]\nA=b\n[Install]\nWantedBy=x\n")),
        dropins=listed(
            st.builds(t.Dropin, contents=st.none() | st.just("[A]\nb=c\n"), name=st.just("10.conf"))
        ),
        enabled=flags,
        mask=flags,
        name=st.sampled_from(("a.service", "b.timer")),
    )
    person = st.builds(
        t.PasswdUser,
        name=st.sampled_from(("core", "root")),
        groups=listed(names),
        password_hash=texts,
        ssh_authorized_keys=listed(st.sampled_from(("ssh-ed25519 AAAA", "ssh-rsa BBBB"))),
        uid=numbers,
    )
    return st.builds(
        t.Config,
        ignition=st.just(t.Ignition(version=t.VERSION)),
        passwd=default_or(st.builds(t.Passwd, users=listed(person, 2)), t.Passwd()),
        storage=storage,
        systemd=default_or(st.builds(t.Systemd, units=listed(unit, 2)), t.Systemd()),
    )
