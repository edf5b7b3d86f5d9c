"""What an Ignition config may say, but a node must not do: rules beyond the format's own.

`lint` is asked before a node writes anything and by `mco validate`. Its errors are what the daemon refuses:
paths that are no files of the machine, names that lead out of a folder, characters that break the file they
are written to, contents that cannot be unpacked. The original renders such configs, so rendering does too
(design.md 10, words).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mco.api import names
from mco.base.errors import InvalidInput
from mco.ignition import dataurl
from mco.ignition import types as t
from mco.ignition.report import Entry, Report

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""Decompressed bytes of one file: far beyond what an object of the API server can carry uncompressed."""

_FORBIDDEN_TREES: Final = {
    "/proc": "the kernel's process tree",
    "/sys": "the kernel's device tree",
    "/dev": "the device tree",
    names.STATE_FOLDER: "this daemon's own state",
}
_FORBIDDEN_FILES: Final = {
    names.CURRENT_CONFIG_FILE: "this daemon's own state",
    names.NODE_ANNOTATIONS_FILE: "this daemon's own state",
    names.FORCE_FILE: "this daemon's own switch",
}

_BREAKING: Final = re.compile("[\n\r\0]")
_CHARACTERS: Final = {"\n": "a line break", "\r": "a carriage return", "\0": "a NUL"}


def lint(config: t.Config) -> Report:
    """Everything in a config that a node refuses, with JSON paths from `$`."""
    return Report(
        (
            *_paths(config.storage),
            *_below_files(config.storage),
            *_contents(config.storage.files),
            *_units(config.systemd.units),
            *_accounts(config.passwd),
            *_arguments(config.kernel_arguments),
        )
    )


def lint_arguments(arguments: Iterable[str], path: str) -> Iterator[Entry]:
    """Kernel arguments, wherever they stand: one per line of the boot entry."""
    for index, argument in enumerate(arguments):
        yield from _no_breaks(f"{path}.{index}", argument, "kernel argument")
        if not argument.strip():
            yield Entry("warn", f"{path}.{index}", "kernel argument is empty")


def _nodes(storage: t.Storage) -> Iterator[tuple[str, t.Node]]:
    lists: tuple[tuple[str, Sequence[t.Node]], ...] = (
        ("directories", storage.directories),
        ("files", storage.files),
        ("links", storage.links),
    )
    for name, nodes in lists:
        for index, node in enumerate(nodes):
            yield f"$.storage.{name}.{index}", node


def _paths(storage: t.Storage) -> Iterator[Entry]:
    for path, node in _nodes(storage):
        place = posixpath.normpath(node.path)
        reason = _FORBIDDEN_FILES.get(place) or _forbidden_tree(place)
        if reason:
            yield Entry("error", f"{path}.path", f"{node.path} belongs to {reason}")
        if ".." in node.path.split("/"):
            yield Entry("error", f"{path}.path", f"{node.path} contains ..")
        if "\0" in node.path:
            yield Entry("error", f"{path}.path", "path contains a NUL")


def _forbidden_tree(place: str) -> str:
    inside = (what for tree, what in _FORBIDDEN_TREES.items() if f"{place}/".startswith(f"{tree}/"))
    return next(inside, "")


def _below_files(storage: t.Storage) -> Iterator[Entry]:
    files = {file.path for file in storage.files}
    for path, node in _nodes(storage):
        parent = posixpath.dirname(node.path)
        while parent not in files and parent not in ("/", ""):
            parent = posixpath.dirname(parent)
        if parent in files:
            yield Entry("error", f"{path}.path", f"{node.path} lies below {parent}, which is a file")


def _contents(files: Sequence[t.File]) -> Iterator[Entry]:
    for index, file in enumerate(files):
        path = f"$.storage.files.{index}"
        if file.append:
            yield Entry("error", f"{path}.append", "append is not supported")
        source = file.contents.source
        if not source:
            continue
        if not source.startswith(dataurl.PREFIX):
            yield Entry("error", f"{path}.contents.source", "only data URLs are supported")
        elif file.contents.compression:
            try:
                dataurl.decode(source, file.contents.compression, MAX_FILE_BYTES)
            except InvalidInput as error:
                yield Entry("error", f"{path}.contents", error.message)


def _units(units: Sequence[t.Unit]) -> Iterator[Entry]:
    for index, unit in enumerate(units):
        path = f"$.systemd.units.{index}"
        yield from _file_name(f"{path}.name", unit.name, "unit")
        for number, dropin in enumerate(unit.dropins):
            yield from _file_name(f"{path}.dropins.{number}.name", dropin.name, "drop-in")


def _file_name(path: str, name: str, what: str) -> Iterator[Entry]:
    """A name that becomes a file in a fixed folder must be one name."""
    if "/" in name:
        yield Entry("error", path, f"{what} name {name!r} contains a slash")
    elif ".." in name:
        yield Entry("error", path, f"{what} name {name!r} contains ..")
    yield from _no_breaks(path, name, f"{what} name")


def _accounts(passwd: t.Passwd) -> Iterator[Entry]:
    for index, user in enumerate(passwd.users):
        path = f"$.passwd.users.{index}"
        yield from _account_field(f"{path}.name", user.name, "user name")
        yield from _account_field(f"{path}.passwordHash", user.password_hash or "", "password hash")
        for number, key in enumerate(user.ssh_authorized_keys):
            yield from _no_breaks(f"{path}.sshAuthorizedKeys.{number}", key, "SSH key")
    for index, group in enumerate(passwd.groups):
        path = f"$.passwd.groups.{index}"
        yield from _account_field(f"{path}.name", group.name, "group name")
        yield from _account_field(f"{path}.passwordHash", group.password_hash or "", "password hash")


def _account_field(path: str, text: str, what: str) -> Iterator[Entry]:
    """What stands between colons in a line of the account files."""
    if ":" in text:
        yield Entry("error", path, f"{what} contains a colon")
    yield from _no_breaks(path, text, what)


def _arguments(arguments: t.KernelArguments) -> Iterator[Entry]:
    yield from lint_arguments(arguments.should_exist, "$.kernelArguments.shouldExist")
    yield from lint_arguments(arguments.should_not_exist, "$.kernelArguments.shouldNotExist")


def _no_breaks(path: str, text: str, what: str) -> Iterator[Entry]:
    """Nothing that would end the line which the text is written to. The text itself may be secret."""
    if found := _BREAKING.search(text):
        yield Entry("error", path, f"{what} contains {_CHARACTERS[found[0]]}")
