"""Which paths the host layer accepts, before anything is touched."""

from __future__ import annotations

from mco.base.errors import InvalidInput
from mco.host.errors import printable


def checked(path: str) -> str:
    """The path without empty and `.` parts. Raises InvalidInput when it is relative or empty, has a `..` or
    a NUL: such a path in a config is a mistake or an attack, never a wish (spec/render.md 10)."""
    if "\0" in path:
        raise InvalidInput(f"path {printable(path)} contains a NUL", path=path, hint="remove the NUL byte")
    if not path.startswith("/"):
        raise InvalidInput(
            f'path "{printable(path)}" is not absolute', path=path, hint="start it with a slash"
        )
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise InvalidInput(
            f'path {printable(path)} contains ".."', path=path, hint="write the path it leads to"
        )
    return "/" + "/".join(parts)


def split(path: str) -> tuple[str, str]:
    """Folder and last part of a checked path. The root itself has no last part and is refused."""
    folder, _, name = checked(path).rpartition("/")
    if not name:
        raise InvalidInput("the root directory cannot be replaced", path="/", hint="name a path below it")
    return folder or "/", name


def ancestors(path: str) -> list[str]:
    """The folders above a path, topmost first, without the root."""
    parts = checked(path).split("/")[1:-1]
    return ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]
