"""The comparison of what a config demands with what a machine shows (spec/daemon.md 7.2).

Facts come in one by one, so that a caller need not hold every file at once. A finding names the path and
the exact difference, never contents, keys or hashes.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence

import msgspec

from mco.base.text import quote
from mco.ignition import dataurl
from mco.ignition.types import Resource
from mco.plan.node import arguments
from mco.plan.node import expectations as expect
from mco.plan.node.actions import LOCKED

FILE, UNIT, ARGUMENTS, KEYS, PASSWORD = "file", "unit", "kernelArguments", "sshKeys", "password"

_ENABLED = ("enabled", "enabled-runtime")
_NOT_ENABLED = ("disabled", "masked", "masked-runtime", "not-found", "bad")


class Finding(msgspec.Struct, frozen=True):
    """One difference. `kind`: one of the words above; `path`: a path, unit or user."""

    kind: str
    path: str
    message: str


class FileFact(msgspec.Struct, frozen=True, kw_only=True):
    """What is at a path. `mode` has the type bits, None when nothing is there; `contents` only of a regular
    file; `target` only of a link. `wanted_owner` is the expected owner in numbers, None when the machine does
    not know the name. `error`: why it could not be read."""

    mode: int | None = None
    contents: bytes = b""
    target: str = ""
    owner: tuple[int, int] = (0, 0)
    wanted_owner: tuple[int, int] | None = (0, 0)
    error: str = ""


class UnitFact(msgspec.Struct, frozen=True):
    """What `systemctl is-enabled` says."""

    state: str


class KeysFact(msgspec.Struct, frozen=True):
    """The lines of the managed key file, None when the machine has no such user."""

    lines: tuple[str, ...] | None


class PasswordFact(msgspec.Struct, frozen=True):
    """The hash in the shadow entry, None when the machine has no such user."""

    hash: str | None


class ArgumentsFact(msgspec.Struct, frozen=True):
    """The running command line, and what the boot loader would pass next time."""

    running: tuple[str, ...]
    configured: tuple[str, ...] = ()


Fact = FileFact | UnitFact | KeysFact | PasswordFact | ArgumentsFact


def finding(expected: expect.Expectation, fact: Fact) -> Finding | None:
    """The difference, if there is one. Raises TypeError when the fact is of another kind."""
    match expected, fact:
        case expect.FileIs(), FileFact():
            return _file(expected, fact)
        case expect.FileIsEmptyOrAbsent(path), FileFact():
            if fact.mode is None or not fact.contents:
                return None
            return Finding(UNIT, path, f"content mismatch for file {quote(path)}")
        case expect.UnitIsMasked(name), FileFact():
            if fact.target == "/dev/null":
                return None
            return Finding(
                UNIT, name, f"unit {quote(name)} is not masked: its path does not lead to /dev/null"
            )
        case expect.UnitIsEnabled(), UnitFact(state):
            return _enablement(expected, state)
        case expect.KeysAre(user, keys), KeysFact(lines):
            return _keys(user, keys, lines)
        case expect.PasswordIs(user, wanted), PasswordFact(found):
            return _password(user, wanted, found)
        case expect.ArgumentsRun(), ArgumentsFact():
            return _arguments(expected, fact)
    raise TypeError(f"{type(fact).__name__} does not answer {type(expected).__name__}")


def contents(source: Resource | str) -> bytes:
    """The bytes that a file shall have. Raises InvalidInput for a source that is not a data URL."""
    if isinstance(source, str):
        return source.encode()
    if not source.source:
        return b""
    return dataurl.decode(source.source, source.compression)


def _file(expected: expect.FileIs, fact: FileFact) -> Finding | None:
    kind = FILE if expected.what == "file" else UNIT
    name = quote(expected.path)

    def found(message: str) -> Finding:
        return Finding(kind, expected.path, message)

    if fact.error:
        return found(f"could not read file {name}: {fact.error}")
    if fact.mode is None:
        return found(f"could not stat file {name}: no such file or directory")
    wanted = stat.S_IFREG | expected.mode
    if fact.mode != wanted:
        return found(
            f"mode mismatch for file: {name}; expected: {_mode(wanted)}; received: {_mode(fact.mode)}"
        )
    if fact.contents != contents(expected.contents):
        return found(f"content mismatch for file {name}")
    if fact.wanted_owner is None:
        return found(f"owner {expected.user}:{expected.group} of file {name} does not exist on this machine")
    if fact.owner != fact.wanted_owner:
        return found(
            f"owner mismatch for file: {name}; expected: {_owner(fact.wanted_owner)}; "
            f"received: {_owner(fact.owner)}"
        )
    return None


def _mode(mode: int) -> str:
    return f"{stat.filemode(mode)}/0{stat.S_IMODE(mode):o}"


def _owner(owner: tuple[int, int]) -> str:
    return f"{owner[0]}:{owner[1]}"


def _enablement(expected: expect.UnitIsEnabled, state: str) -> Finding | None:
    if state == "not-found" and not expected.defined:
        return None
    if expected.enabled:
        wrong = state in _NOT_ENABLED
        wanted = "enabled"
    else:
        wrong = state in _ENABLED
        wanted = "disabled"
    if not wrong:
        return None
    text = f"unit {quote(expected.name)} is {state}; expected: {wanted}"
    return Finding(UNIT, expected.name, text)


def _keys(user: str, keys: Sequence[str], lines: Sequence[str] | None) -> Finding | None:
    if lines is None or tuple(line.strip() for line in lines) == tuple(key.strip() for key in keys):
        return None
    count = f"expected {len(keys)}, found {len(lines)}" if len(keys) != len(lines) else "same number"
    return Finding(KEYS, user, f"SSH keys of user {quote(user)} differ from the config ({count})")


def _password(user: str, wanted: str, found: str | None) -> Finding | None:
    if found is None or found == wanted or (wanted == LOCKED and found.startswith(("*", "!"))):
        return None
    what = "can be used" if wanted == LOCKED else "differs"
    return Finding(PASSWORD, user, f"password of user {quote(user)} {what}, unlike in the config")


def _arguments(expected: expect.ArgumentsRun, fact: ArgumentsFact) -> Finding | None:
    missing = arguments.missing(expected.wanted, fact.running)
    # An argument that the image itself brings stays; one more than the boot loader passes was to go.
    kept = [word for word in expected.gone if word in fact.running and word not in fact.configured]
    if not missing and not kept:
        return None
    parts = []
    if missing:
        parts.append(f"missing: {' '.join(missing)}")
    if kept:
        parts.append(f"still there: {' '.join(kept)}")
    text = f"running kernel arguments differ from the config; {'; '.join(parts)}"
    return Finding(ARGUMENTS, " ".join((*missing, *kept)), text)
