"""SSH keys of a user (spec/daemon.md 6.11): one file below the home, which nothing else manages."""

from __future__ import annotations

from collections.abc import Sequence

from mco.base.errors import InvalidInput
from mco.host.accounts import Accounts, User
from mco.host.root import Root, Stat

KEYS_FILE = ".ssh/authorized_keys.d/ignition"
_FOLDERS = ("/.ssh", "/.ssh/authorized_keys.d")


class AuthorizedKeys:
    """The user can write in their home while we do: everything below it is resolved with the home as the
    root, so that a link of theirs cannot make us write or own anything elsewhere."""

    def __init__(self, root: Root, accounts: Accounts) -> None:
        self._root = root
        self._accounts = accounts

    def path(self, user: str) -> str | None:
        """None when the machine has no such user, which is no error for keys."""
        found = self._accounts.find(user)
        return None if found is None else f"{found.home.rstrip('/')}/{KEYS_FILE}"

    def replaced(self, user: str) -> tuple[str, ...]:
        """Everything that `write` takes away because it is not the user's: nearly always nothing. What is
        below something comes before it."""
        found = self._accounts.find(user)
        if found is None:
            return ()
        for folder in _FOLDERS:
            place = f"{found.home.rstrip('/')}{folder}"
            if _is_foreign(self._root.stat(place), found):
                return tuple(path for path, _ in self._root.walk(place))[::-1]
        return ()

    def write(self, user: str, keys: Sequence[str]) -> bool:
        """Replaces the user's keys, one per line; none makes an empty file. False when there is no such user.
        A `.ssh` that is a link or belongs to somebody else is removed first."""
        for key in keys:
            if any(c in key for c in "\n\r\0"):
                raise InvalidInput("SSH key contains a newline or NUL", subject=user, hint="one line per key")
        found = self._accounts.find(user)
        if found is None:
            return False
        if not self._root.exists(found.home):
            self._root.mkdir(found.home, 0o700, (found.uid, found.gid))
        with self._root.below(found.home) as home:
            _own_folders(home, found)
            home.write(
                f"/{KEYS_FILE}",
                "".join(f"{key}\n" for key in keys).encode(),
                mode=0o600,
                owner=(found.uid, found.gid),
            )
        return True


def _own_folders(home: Root, user: User) -> None:
    for folder in _FOLDERS:
        status = home.stat(folder)
        if _is_foreign(status, user):
            home.remove_tree(folder)
            status = None
        if status is None:
            home.mkdir(folder, 0o700, (user.uid, user.gid))


def _is_foreign(status: Stat | None, user: User) -> bool:
    return status is not None and not (status.is_dir and status.uid == user.uid)
