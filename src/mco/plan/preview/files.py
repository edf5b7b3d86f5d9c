"""Changed files, for people and scripts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mco.ignition.types import File, Resource
from mco.plan.node import diff
from mco.plan.node.diff import Changes
from mco.plan.node.target import Target
from mco.plan.node.update import DEFAULT_FILE_MODE, owner
from mco.plan.preview import contents, parts
from mco.plan.preview.contents import Contents
from mco.plan.preview.parts import Change, Kind

_READABLE_BY_OTHERS = 0o044


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """`attributes`: what of a changed file differs: contents, mode, owner, or one of the fields that change
    nothing on the disk (encoding, overwrite). `mode` is octal, `owner` is `user:group`."""

    path: str
    change: Kind
    attributes: tuple[str, ...] = ()
    mode: Change[str] | None = None
    owner: Change[str] | None = None
    contents: Contents | None = None


def of(old: Target, new: Target, changes: Changes) -> tuple[FileChange, ...]:
    """In the order of their paths; where nothing but the order of the list differs, what moved."""
    before, after = diff.files(old), diff.files(new)
    if changes.files and not changes.changed_files:
        return tuple(FileChange(path=path, change="moved") for path in parts.moved(before, after))
    return tuple(_change(path, before.get(path), after.get(path)) for path in sorted(changes.changed_files))


def _change(path: str, old: File | None, new: File | None) -> FileChange:
    found = FileChange(
        path=path,
        change=parts.kind(old, new),
        mode=parts.change(_mode(old), _mode(new)),
        owner=parts.change(_owner(old), _owner(new)),
        contents=contents.change(
            path, _source(old), _source(new), private=_closed_to_others(old) or _closed_to_others(new)
        ),
    )
    if old is None or new is None:
        return found
    return msgspec.structs.replace(found, attributes=tuple(_attributes(old, new, found)))


def _attributes(old: File, new: File, found: FileChange) -> Iterator[str]:
    for attribute in ("contents", "mode", "owner"):
        if getattr(found, attribute) is not None:
            yield attribute
    if found.contents is None and old.contents != new.contents:
        yield "encoding"
    if old.overwrite != new.overwrite:
        yield "overwrite"
    if old.append != new.append:
        yield "append"


def _source(file: File | None) -> Resource | None:
    return file.contents if file else None


def _closed_to_others(file: File | None) -> bool:
    """Whoever gives a file a mode like 0600 has a reason not to show it."""
    return file is not None and file.mode is not None and not file.mode & _READABLE_BY_OTHERS


def _mode(file: File | None) -> str | None:
    if file is None:
        return None
    return f"{DEFAULT_FILE_MODE if file.mode is None else file.mode:04o}"


def _owner(file: File | None) -> str | None:
    return f"{owner(file.user)}:{owner(file.group)}" if file else None
