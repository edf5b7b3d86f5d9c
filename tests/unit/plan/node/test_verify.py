"""What must be true on a node's disk, and the words for what is not (spec/daemon.md 7.1, 7.2)."""

from __future__ import annotations

import stat

import pytest

from mco.plan.node import expectations as expect
from mco.plan.node.expectations import expectations
from mco.plan.node.verify import (
    ArgumentsFact,
    FileFact,
    Finding,
    KeysFact,
    PasswordFact,
    UnitFact,
    finding,
)
from tests.daemon.builders import unit
from tests.unit.plan.node.configs import CORE, make, plain, users

REGULAR = stat.S_IFREG | 0o644
MOTD = expect.FileIs(path="/etc/motd", contents="hello", mode=0o644)


def message(expected: expect.Expectation, fact: object) -> str:
    found = finding(expected, fact)  # type: ignore[arg-type]
    return found.message if found else ""


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (FileFact(mode=REGULAR, contents=b"hello"), ""),
        (FileFact(), 'could not stat file "/etc/motd": no such file or directory'),
        (FileFact(mode=REGULAR, contents=b"other"), 'content mismatch for file "/etc/motd"'),
        (
            FileFact(mode=stat.S_IFREG | 0o600, contents=b"hello"),
            'mode mismatch for file: "/etc/motd"; expected: -rw-r--r--/0644; received: -rw-------/0600',
        ),
        (
            FileFact(mode=stat.S_IFLNK | 0o777, target="/etc/other"),
            'mode mismatch for file: "/etc/motd"; expected: -rw-r--r--/0644; received: lrwxrwxrwx/0777',
        ),
        (
            FileFact(mode=REGULAR, contents=b"hello", owner=(0, 7)),
            'owner mismatch for file: "/etc/motd"; expected: 0:0; received: 0:7',
        ),
        (
            FileFact(mode=REGULAR, contents=b"hello", wanted_owner=None),
            'owner 0:0 of file "/etc/motd" does not exist on this machine',
        ),
        (FileFact(error="too big"), 'could not read file "/etc/motd": too big'),
    ],
)
def test_files(fact: FileFact, text: str) -> None:
    assert message(MOTD, fact) == text


@pytest.mark.parametrize(
    ("enabled", "state", "fails"),
    [
        (True, "enabled", False),
        (True, "enabled-runtime", False),
        (True, "static", False),
        (True, "alias", False),
        (True, "disabled", True),
        (True, "masked", True),
        (True, "not-found", True),
        (False, "disabled", False),
        (False, "masked", False),
        (False, "not-found", False),
        (False, "enabled", True),
        (False, "enabled-runtime", True),
    ],
)
def test_enablement_in_both_directions(enabled: bool, state: str, fails: bool) -> None:
    assert bool(message(expect.UnitIsEnabled("a.service", enabled, True), UnitFact(state))) is fails


def test_a_unit_that_only_the_machine_would_bring_may_be_missing() -> None:
    assert not message(expect.UnitIsEnabled("a.service", True, False), UnitFact("not-found"))


def test_empty_dropins_may_be_missing_or_empty() -> None:
    expected = expect.FileIsEmptyOrAbsent("/etc/systemd/system/a.service.d/1.conf")
    assert not message(expected, FileFact())
    assert not message(expected, FileFact(mode=REGULAR))
    assert "content mismatch" in message(expected, FileFact(mode=REGULAR, contents=b"x"))


def test_masks() -> None:
    expected = expect.UnitIsMasked("a.service")
    assert not message(expected, FileFact(mode=stat.S_IFLNK | 0o777, target="/dev/null"))
    assert "is not masked" in message(expected, FileFact(mode=REGULAR))


def test_keys_differ_without_being_shown() -> None:
    expected = expect.KeysAre("core", ("ssh-ed25519 SECRET",))
    assert not message(expected, KeysFact(("ssh-ed25519 SECRET",)))
    assert not message(expected, KeysFact(None))
    text = message(expected, KeysFact(("ssh-ed25519 OTHER",)))
    assert "SSH keys of user" in text
    assert "SECRET" not in text
    assert "OTHER" not in text


@pytest.mark.parametrize(
    ("wanted", "found", "text"),
    [
        ("$6$wanted", "$6$wanted", ""),
        ("$6$wanted", "$6$other", 'password of user "core" differs, unlike in the config'),
        ("$6$wanted", "*", 'password of user "core" differs, unlike in the config'),
        ("$6$wanted", None, ""),
        ("*", "*", ""),
        ("*", "!", ""),
        ("*", "!$6$locked", ""),
        ("*", "$6$other", 'password of user "core" can be used, unlike in the config'),
        ("*", "", 'password of user "core" can be used, unlike in the config'),
    ],
)
def test_passwords_differ_without_being_shown(wanted: str, found: str | None, text: str) -> None:
    assert message(expect.PasswordIs("core", wanted), PasswordFact(found)) == text


@pytest.mark.parametrize(
    ("wanted", "gone", "running", "configured", "text"),
    [
        (("a",), (), ("ro", "a"), (), ""),
        (("a", "a"), (), ("a",), (), "missing: a"),
        (("a",), ("b",), ("a", "b"), ("a",), "still there: b"),
        (("a",), ("quiet",), ("quiet", "a"), ("quiet", "a"), ""),
        (("a",), ("b",), ("b",), (), "missing: a; still there: b"),
    ],
)
def test_running_arguments(
    wanted: tuple[str, ...],
    gone: tuple[str, ...],
    running: tuple[str, ...],
    configured: tuple[str, ...],
    text: str,
) -> None:
    found = message(expect.ArgumentsRun(wanted, gone), ArgumentsFact(running, configured))
    assert found == (f"running kernel arguments differ from the config; {text}" if text else "")


def test_a_fact_of_another_kind_is_a_mistake() -> None:
    with pytest.raises(TypeError):
        finding(MOTD, UnitFact("enabled"))


class TestExpectations:
    def test_of_every_part_in_order(self) -> None:
        side = make(
            files=[plain("/etc/a") | {"mode": 0o600}],
            units=[
                unit("a.service", "[Unit]\n", enabled=True, dropins={"1.conf": "x", "2.conf": ""}),
                unit("b.service", mask=True),
                unit("c.service", enabled=False),
            ],
            arguments=["k=1"],
            ignition=users(CORE),
        )
        kinds = [type(e).__name__ for e in expectations(side)]
        assert kinds == [
            "ArgumentsRun",
            "FileIs",
            "FileIs",
            "FileIsEmptyOrAbsent",
            "FileIs",
            "UnitIsEnabled",
            "UnitIsMasked",
            "UnitIsEnabled",
            "KeysAre",
        ]

    def test_leave_out_what_is_renewed_elsewhere(self) -> None:
        paths = ("/etc/kubernetes/kubelet-ca.crt", "/etc/mco/internal-registry-pull-secret.json")
        assert len(expectations(make(files=dict.fromkeys(paths, "x")), running=False)) == 0

    def test_name_the_arguments_that_an_update_took_away(self) -> None:
        found = expectations(make(arguments=["b"]), before=make(arguments=["a b"]))
        assert found[0] == expect.ArgumentsRun(("b",), ("a",))

    def test_of_passwords_at_first_boot_and_after_an_update(self) -> None:
        one, gone = {"name": "one", "passwordHash": "$6$1"}, {"name": "gone", "passwordHash": "$6$2"}
        new = make(ignition=users(CORE, one))
        assert _passwords(expectations(new)) == {"one": "$6$1"}
        before = make(ignition=users(one, gone))
        assert _passwords(expectations(new, before=before)) == {"core": "*", "one": "$6$1", "gone": "*"}
        assert _passwords(expectations(new, before=new)) == {"one": "$6$1"}

    def test_say_nothing_of_keys_where_there_never_were_any(self) -> None:
        assert expectations(make(), running=False) == ()


def _passwords(found: tuple[expect.Expectation, ...]) -> dict[str, str]:
    return {item.user: item.hash for item in found if isinstance(item, expect.PasswordIs)}


def test_findings_name_kind_and_path() -> None:
    found = finding(MOTD, FileFact(mode=REGULAR))
    assert found == Finding("file", "/etc/motd", 'content mismatch for file "/etc/motd"')
