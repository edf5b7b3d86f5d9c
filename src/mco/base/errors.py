"""The tree of errors that a caller may want to tell apart.

    MCOError
    ├── InvalidInput        what somebody wrote is wrong: a file, an object, a flag
    │   └── RenderError     the original's text for a pool that cannot be rendered
    ├── Conflict            somebody else changed it first, or runs already
    ├── NotFound            it does not exist
    ├── Unavailable         a server, a machine or a file system cannot serve now: trying again may help
    ├── HostError           the machine refused an operation: path and system error
    └── Unsupported         this machine or build cannot do it: the hint says what is needed

The Kubernetes client adds the API server's answers to it (`kube/errors.py`).

An error's `str()` is one sentence without a trailing period. What helps a person (the object, the JSON path,
what to do) travels in fields and is printed around the sentence, never inside it, because scripts match the
sentences of the original (design.md 10, words).
"""

from __future__ import annotations


class MCOError(Exception):
    """Base of every error that is meant to be shown. `subject` names the object, as `MachineConfig/50-motd`
    or a file name; `path` is a JSON path in it, as `$.spec.config.storage.files.0.mode`, or a file path;
    `hint` says what to do. `exit_code` is the command line's."""

    exit_code = 1

    def __init__(self, message: str, *, subject: str = "", path: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.subject = subject
        self.path = path
        self.hint = hint


class InvalidInput(MCOError):
    """What somebody wrote is wrong; nothing was changed."""


class RenderError(InvalidInput):
    """A pool cannot be rendered; the message is the original's text (spec/render.md 1)."""


class Conflict(MCOError):
    """Somebody else changed the object first, or another process holds the lock."""


class NotFound(MCOError):
    """It does not exist."""


class Unavailable(MCOError):
    """It cannot be served now; trying again may help."""


class HostError(MCOError):
    """The machine refused an operation; `path` is the file and the message carries the system's error."""


class Unsupported(MCOError):
    """This machine or build cannot do it; the hint says what is needed."""
