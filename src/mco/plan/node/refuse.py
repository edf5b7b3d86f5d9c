"""What the daemon refuses before its first write although a pool can be rendered with it (design.md 10,
words)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from mco.api import names
from mco.base.errors import InvalidInput
from mco.plan.node.target import Target
from mco.plan.node.update import owned_paths

_KERNEL = ("/proc", "/sys", "/dev")
OWN_PATHS = (
    names.STATE_FOLDER,
    names.CURRENT_CONFIG_FILE,
    names.NODE_ANNOTATIONS_FILE,
    "/etc/machine-config-daemon/orig",
    "/etc/machine-config-daemon/noorig",
    names.NODE_KUBECONFIG_FILE,
)
"""What the daemon itself keeps: a config that writes there would break its own undoing."""


def problems(new: Target) -> tuple[InvalidInput, ...]:
    """Everything in `new` that would not end as the config says, with its place and what to do."""
    return tuple(_problems(new))


def _problems(new: Target) -> Iterator[InvalidInput]:
    subject = f"MachineConfig/{new.name}"
    for index, file in enumerate(new.config.storage.files):
        where = f"$.spec.config.storage.files.{index}.path"
        if why := _bad_path(file.path):
            yield InvalidInput(f"{file.path} {why}", subject=subject, path=where, hint="choose another path")
        source = file.contents.source or ""
        if source and not source.startswith("data:"):
            yield InvalidInput(
                f"{file.path} has contents that are not a data URL",
                subject=subject,
                path=f"$.spec.config.storage.files.{index}.contents.source",
                hint="put the contents into the MachineConfig: nodes fetch nothing",
            )
    for index, unit in enumerate(new.config.systemd.units):
        where = f"$.spec.config.systemd.units.{index}"
        if not _plain(unit.name):
            yield InvalidInput(
                f'unit name "{unit.name}" is not a file name',
                subject=subject,
                path=f"{where}.name",
                hint="use a name as example.service",
            )
        for position, dropin in enumerate(unit.dropins):
            if not _plain(dropin.name):
                yield InvalidInput(
                    f'drop-in name "{dropin.name}" of unit {unit.name} is not a file name',
                    subject=subject,
                    path=f"{where}.dropins.{position}.name",
                    hint="use a name as 10-example.conf",
                )
    yield from _nested(new, subject)
    yield from _lines(new, subject)


def _bad_path(path: str) -> str:
    if posixpath.normpath(path) != path or not path.startswith("/"):
        return "is not a plain absolute path"
    if "\0" in path or "\n" in path:
        return "holds a control character"
    if any(path == root or path.startswith(root + "/") for root in _KERNEL):
        return "lies in a file system of the kernel"
    if any(path == own or path.startswith(own + "/") for own in OWN_PATHS):
        return "belongs to the daemon's own state"
    return ""


def _plain(name: str) -> bool:
    return bool(name) and name not in (".", "..") and not set(name) & {"/", "\0", "\n"}


def _nested(new: Target, subject: str) -> Iterator[InvalidInput]:
    paths = owned_paths(new)
    for path in sorted(paths):
        above = posixpath.dirname(path)
        while above not in ("/", ""):
            if above in paths:
                yield InvalidInput(
                    f"{path} lies below {above}, which is a file of the same config",
                    subject=subject,
                    path="$.spec.config.storage.files",
                    hint="rename one of the two",
                )
            above = posixpath.dirname(above)


def _lines(new: Target, subject: str) -> Iterator[InvalidInput]:
    for index, argument in enumerate(new.spec.kernel_arguments or ()):
        if set(argument) & {"\n", "\0", "\r"}:
            yield InvalidInput(
                "a kernel argument holds a line break or NUL",
                subject=subject,
                path=f"$.spec.kernelArguments.{index}",
                hint="one argument is one word",
            )
    for index, user in enumerate(new.config.passwd.users):
        where = f"$.spec.config.passwd.users.{index}"
        for position, key in enumerate(user.ssh_authorized_keys):
            if set(key.strip()) & {"\n", "\0", "\r"}:
                yield InvalidInput(
                    f"an SSH key of user {user.name} holds a line break or NUL",
                    subject=subject,
                    path=f"{where}.sshAuthorizedKeys.{position}",
                    hint="one entry is one key",
                )
        if set(user.password_hash or "") & {"\n", "\0", ":", "\r"}:
            yield InvalidInput(
                f"the password hash of user {user.name} holds a colon or control character",
                subject=subject,
                path=f"{where}.passwordHash",
                hint="make the hash with mkpasswd or openssl passwd",
            )
