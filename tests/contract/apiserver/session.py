"""A session with kubectl as text: what was typed and printed, without what differs from run to run."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

_AGE = re.compile(r"\b\d+(?:s|m|h|d|y)(?:\d+(?:s|m|h|d))?\b")
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"
)
_VERSION = re.compile(r'(resourceVersion: "|Resource Version:\s+)\d+')
_VALUE = re.compile(r'(patch: Invalid value: )".*"(: strict decoding error)')
_SERVER = re.compile(r"server 127\.0\.0\.1:\d+ was")
_SPACES = re.compile(r"(?<=\S) {2,}")


class Normaliser(msgspec.Struct, frozen=True):
    """`names` are what a run called its own things, with what a transcript calls them."""

    names: tuple[tuple[str, str], ...]

    def __call__(self, text: str) -> str:
        text = _TIME.sub("<time>", _UID.sub("<uid>", self.named(text)))
        # The real server quotes a patch that does not decode; the embedded one keeps it to itself.
        text = _VALUE.sub(r"\1<value>\2", text)
        # The one kind of patch that the embedded server does not take.
        text = text.replace(", application/apply-patch+yaml", "")
        text = _AGE.sub("<age>", _VERSION.sub(r"\1<version>", text))
        text = _SERVER.sub("server <server> was", text)
        # Columns are as wide as the widest value, and ages differ in width.
        return "\n".join(_SPACES.sub("  ", line).rstrip() for line in text.splitlines())

    def named(self, text: str) -> str:
        for name, replacement in self.names:
            text = text.replace(name, replacement)
        return text


class Transcript:
    """Grows by a command and what it printed."""

    def __init__(self, normalise: Normaliser) -> None:
        self._normalise = normalise
        self._blocks: list[str] = []

    def note(self, text: str) -> None:
        self._blocks.append(f"# {text}")

    def add(self, arguments: Sequence[str], out: str, err: str, code: int) -> None:
        typed = self._normalise.named(f"$ kubectl {' '.join(arguments)}")
        printed = [self._normalise(text) for text in (out.rstrip(), err.rstrip()) if text]
        end = [f"[exit {code}]"] if code else []
        self._blocks.append("\n".join((typed, *printed, *end)))

    def happened(self, text: str) -> None:
        """Something that nobody typed."""
        self._blocks.append(f"({text})")

    def text(self) -> str:
        return "\n\n".join(self._blocks) + "\n"
