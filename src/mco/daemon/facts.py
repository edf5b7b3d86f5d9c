"""What the machine shows for one expectation of a config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from mco.base.errors import HostError, InvalidInput, Unsupported
from mco.host.machine import Host
from mco.plan.node import actions as act
from mco.plan.node import expectations as expect
from mco.plan.node.verify import (
    ArgumentsFact,
    Fact,
    FileFact,
    Finding,
    KeysFact,
    PasswordFact,
    UnitFact,
    finding,
)


def differences(host: Host, expected: tuple[expect.Expectation, ...]) -> tuple[Finding, ...]:
    """Everything about the machine that is not as expected, in order."""
    # One question for all units: a config has dozens, and each answer costs a process.
    states = host.systemd.enabled_states([i.name for i in expected if isinstance(i, expect.UnitIsEnabled)])
    found = (finding(item, _fact(host, item, states)) for item in expected)
    return tuple(item for item in found if item is not None)


def _fact(host: Host, expected: expect.Expectation, states: Mapping[str, str]) -> Fact:
    match expected:
        case expect.FileIs():
            return _file(host, expected.path, owner(host, expected.user, expected.group))
        case expect.FileIsEmptyOrAbsent(path):
            return _file(host, path, None)
        case expect.UnitIsMasked():
            return _file(host, expected.path, None)
        case expect.UnitIsEnabled(name):
            return UnitFact(states[name])
        case expect.KeysAre(user):
            return _keys(host, user)
        case expect.PasswordIs(user):
            return _password(host, user)
        case expect.ArgumentsRun():
            return _arguments(host, expected)
        case _:
            assert_never(expected)


def owner(host: Host, user: act.Owner, group: act.Owner) -> tuple[int, int] | None:
    """The numbers of an owner, None when the machine does not know a name."""
    try:
        uid = user.id if user.id is not None else host.accounts.uid(user.name)
        gid = group.id if group.id is not None else host.accounts.gid(group.name)
    except HostError:
        return None
    return uid, gid


def _file(host: Host, path: str, wanted: tuple[int, int] | None) -> FileFact:
    try:
        status = host.root.stat(path)
        if status is None:
            return FileFact(wanted_owner=wanted)
        contents = host.root.read(path, follow=False) if status.is_file else b""
    except (HostError, InvalidInput) as error:
        return FileFact(error=str(error), wanted_owner=wanted)
    return FileFact(
        mode=status.mode,
        contents=contents,
        target=status.target,
        owner=status.owner,
        wanted_owner=wanted,
    )


def _keys(host: Host, user: str) -> KeysFact:
    path = host.ssh.path(user)
    if path is None:
        return KeysFact(None)
    data = host.root.read_optional(path) or b""
    return KeysFact(tuple(data.decode("utf-8", "replace").splitlines()))


def _password(host: Host, user: str) -> PasswordFact:
    known = host.accounts.find(user) is not None
    return PasswordFact(host.accounts.password_hash(user) if known else None)


def _arguments(host: Host, expected: expect.ArgumentsRun) -> ArgumentsFact:
    if not expected.wanted and not expected.gone:
        return ArgumentsFact(())
    try:
        configured = host.kernel.configured()
    except Unsupported:
        configured = ()
    return ArgumentsFact(host.kernel.running(), configured)
