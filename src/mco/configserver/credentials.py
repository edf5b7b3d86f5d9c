"""What the config server gives to machines from its own disk: the shared token, and the API's authorities.

Both lie in one folder that a Secret is mounted to (spec/operator.md 3.4), so they change while we run.
"""

from __future__ import annotations

import os
from pathlib import Path

from mco.base.errors import InvalidInput, Unavailable
from mco.configserver.kubeconfig import check_token

TOKEN_FOLDER = Path("/etc/mcs/bootstrap-token")


class FollowedFile:
    """A small file that is read again when it was replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity: tuple[int, int, int] | None = None
        self._data = b""

    def read(self) -> bytes:
        """Raises Unavailable if it cannot be read now."""
        try:
            found = os.stat(self.path)
            identity = (found.st_ino, found.st_size, found.st_mtime_ns)
            if identity != self._identity:
                self._data = self.path.read_bytes()
                self._identity = identity
        except OSError as error:
            raise Unavailable(
                f"cannot read a bootstrap credential: {error.strerror}", path=str(self.path)
            ) from error
        return self._data


class SharedToken:
    """The token for machines that show none of their own."""

    def __init__(self, folder: Path = TOKEN_FOLDER) -> None:
        self._file = FollowedFile(folder / "token")

    def __call__(self) -> str:
        """Raises Unavailable if there is none, InvalidInput if the file does not hold a token."""
        try:
            return check_token(self._file.read().decode("ascii").strip())
        except (UnicodeDecodeError, InvalidInput):
            raise InvalidInput(
                "the file holds no token",
                path=str(self._file.path),
                hint="machines with join tokens do not need it: `mco token create`",
            ) from None
