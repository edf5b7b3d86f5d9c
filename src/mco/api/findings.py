"""What a check found: how bad, in which object, where in it, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from mco.base.errors import InvalidInput, MCOError

Level = Literal["error", "warning"]
"""An error is what rendering or the node daemon refuses, a warning what works but is probably not meant."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`subject` is an object as `MachineConfig/50-motd` or a file, `path` a JSON path in it as
    `$.spec.config.storage.files.0.mode`, `place` the file and line where the object stands."""

    level: Level
    subject: str
    path: str = ""
    message: str
    hint: str = ""
    place: str = ""

    def error(self) -> InvalidInput:
        """The finding as an exception."""
        return InvalidInput(self.message, subject=self.subject, path=self.path, hint=self.hint)


def of_error(error: MCOError, *, subject: str = "", place: str = "") -> Finding:
    """An exception as a finding; `subject` and `place` fill what the exception does not know."""
    return Finding(
        level="error",
        subject=error.subject or subject,
        path=error.path,
        message=error.message,
        hint=error.hint,
        place=place,
    )


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.level == "error")
