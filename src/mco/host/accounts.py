"""Users and groups of the machine, read from the root's own files and not from this process's.

A container has other users than the machine whose root it mounts. `/usr/lib/passwd` and `/usr/lib/group`
come second: image-based systems keep the system's users there.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mco.base.errors import HostError, InvalidInput
from mco.host.commands import Commands
from mco.host.root import Root

_PASSWD = ("/etc/passwd", "/usr/lib/passwd")
_SHADOW_FOLDER = "/etc"
_GROUP = ("/etc/group", "/usr/lib/group")
LOCKED = "*"
"""The hash of an account without a password (spec/daemon.md 6.12)."""


class User(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    uid: int
    gid: int
    home: str
    shell: str


class Accounts:
    """Names that do not exist raise HostError with the original's text."""

    def __init__(self, root: Root, commands: Commands) -> None:
        self._root = root
        self._commands = commands

    def find(self, name: str) -> User | None:
        for fields in self._rows(_PASSWD, 7):
            if fields[0] == name:
                uid, gid = int(fields[2]), int(fields[3])
                return User(name=name, uid=uid, gid=gid, home=fields[5] or "/", shell=fields[6])
        return None

    def user(self, name: str) -> User:
        found = self.find(name)
        if found is None:
            raise HostError(f"user: unknown user {name}", subject=name, hint="create the user, or give an id")
        return found

    def uid(self, name: str) -> int:
        return self.user(name).uid

    def home(self, name: str) -> str:
        return self.user(name).home

    def shell(self, name: str) -> str:
        return self.user(name).shell

    def gid(self, name: str) -> int:
        """Of a group."""
        for fields in self._rows(_GROUP, 4):
            if fields[0] == name:
                return int(fields[2])
        raise HostError(f"group: unknown group {name}", subject=name, hint="create the group, or give an id")

    def password_hash(self, user: str) -> str:
        """Field 2 of the shadow entry, `*` or `!` when there is none to log in with. Raises HostError for a
        user that does not exist."""
        self.user(user)
        line = self._commands.run("getent", "shadow", user)
        fields = line.strip().split(":")
        if len(fields) < 2:
            raise HostError(f"getent shadow {user}: no password field", subject=user)
        return fields[1]

    def set_password_hash(self, user: str, password_hash: str) -> bool:
        """False when it was so before. The hash goes through stdin: arguments are visible to every process
        of the machine, and failures print them."""
        wanted = password_hash or LOCKED
        if any(c in wanted for c in ":\n\0"):
            raise InvalidInput(
                "password hash contains a colon, newline or NUL", subject=user, hint="encode it with crypt(3)"
            )
        if self.password_hash(user) == wanted:
            return False
        self._commands.run("chpasswd", "-e", stdin=f"{user}:{wanted}\n")
        # It syncs the new file, but not the name under which it puts it.
        self._root.sync_folder(_SHADOW_FOLDER)
        return True

    def _rows(self, files: tuple[str, ...], width: int) -> Iterator[list[str]]:
        """Well-formed lines only: a damaged one must not hide the others."""
        for path in files:
            for line in (self._root.read_optional(path) or b"").decode("utf-8", "replace").splitlines():
                fields = line.split(":")
                if len(fields) >= width and fields[2].isdigit() and (width < 7 or fields[3].isdigit()):
                    yield fields
