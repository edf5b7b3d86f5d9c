"""The parts of a preview: contents, files, units, accounts, lists."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from mco.ignition.dataurl import encode_base64
from mco.ignition.types import Resource
from mco.plan.node.diff import compare
from mco.plan.node.target import Target
from mco.plan.preview import accounts, contents, files, parts, units
from mco.plan.preview.accounts import AccountChanges, Key
from mco.plan.preview.contents import MAX_BYTES, MAX_LINES, Contents
from mco.plan.preview.files import FileChange
from mco.plan.preview.parts import Change, ListChange
from mco.plan.preview.units import DropinChange, UnitChange
from tests.daemon.builders import unit
from tests.unit.plan.node.configs import make, plain, users
from tests.unit.plan.preview.sides import NONE, actions, decide

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@host"
PRINT = "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"


class TestContents:
    def test_a_unified_diff(self) -> None:
        found = contents.change("/etc/a", "1\n2\n3\n", "1\ntwo\n3\n")
        assert found is not None
        assert found.diff == "--- a/etc/a\n+++ b/etc/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n"
        assert found.old is not None
        assert found.old.size == 6

    def test_a_line_that_does_not_end(self) -> None:
        found = contents.change("/a", "1", "1\n")
        assert found is not None
        assert found.diff == "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+1\n"

    def test_only_a_line_feed_ends_a_line(self) -> None:
        found = contents.change("/a", "a\rb\x0cc\u2028d\n", "a\rb\x0cc\u2028e\n")
        assert found is not None
        assert "-a\rb\x0cc\u2028d\n+a\rb\x0cc\u2028e\n" in found.diff

    def test_a_side_that_is_not_there(self) -> None:
        found = contents.change("/a", None, "1\n")
        assert found is not None
        assert found.old is None
        assert found.diff.startswith("--- /dev/null\n+++ b/a\n")
        gone = contents.change("/a", "1\n", None)
        assert gone is not None
        assert gone.new is None
        assert gone.diff.startswith("--- a/a\n+++ /dev/null\n")

    def test_nothing(self) -> None:
        assert contents.change("/a", "1", "1") is None
        assert contents.change("/a", None, None) is None
        packed = Resource(source=encode_base64(gzip.compress(b"1"), ""), compression="gzip")
        assert contents.change("/a", packed, Resource(source="data:,1")) is None

    @pytest.mark.parametrize("data", [b"\0", b"\xff\xfe", b"\x80"])
    def test_binary(self, data: bytes) -> None:
        found = contents.change("/a", "1", Resource(source=encode_base64(data, "")))
        assert found is not None
        assert (found.kind, found.diff) == ("binary", "")
        assert found.new is not None
        assert (found.new.size, len(found.new.sha256)) == (len(data), 64)

    @pytest.mark.parametrize("text", ["x" * (MAX_BYTES + 1), "x\n" * (MAX_LINES + 1)])
    def test_large(self, text: str) -> None:
        found = contents.change("/a", "1", text)
        assert found is not None
        assert (found.kind, found.diff) == ("large", "")

    @pytest.mark.parametrize(
        ("path", "old", "new"),
        [
            ("/etc/shadow", "a", "b"),
            ("/a", "password=x", "nothing"),
            ("/a", "nothing", "password=x"),
            ("/a", None, "password=x"),
            ("/a", "password=x\nold\n", "password=x\nnew\n"),
        ],
    )
    def test_secrets_leave_nothing(self, path: str, old: str | None, new: str) -> None:
        assert contents.change(path, old, new) == Contents(kind="masked")

    def test_what_cannot_be_decoded(self) -> None:
        remote = Resource(source="https://user:pw@host/x")
        assert contents.change("/a", remote, Resource(source="data:,")) == Contents(kind="unreadable")
        assert contents.change("/a", remote, remote) is None


class TestFiles:
    @staticmethod
    def change(old: dict[str, Any] | None, new: dict[str, Any] | None) -> FileChange:
        sides = [make(files=[plain("/a", "1") | side] if side is not None else []) for side in (old, new)]
        (found,) = files.of(sides[0], sides[1], compare(sides[0], sides[1]))
        return found

    @pytest.mark.parametrize(
        ("new", "attributes"),
        [
            ({"mode": 0o600}, ("mode",)),
            ({"user": {"name": "core"}}, ("owner",)),
            ({"group": {"id": 7}}, ("owner",)),
            ({"overwrite": True}, ("overwrite",)),
            ({"contents": {"source": "data:,2"}}, ("contents",)),
            ({"contents": {"source": "data:;base64,MQ=="}}, ("encoding",)),
            ({"mode": 0o644}, ()),
            ({"mode": 0o755, "contents": {"source": "data:,2"}}, ("contents", "mode")),
        ],
    )
    def test_attributes(self, new: dict[str, Any], attributes: tuple[str, ...]) -> None:
        found = self.change({}, new)
        assert (found.change, found.attributes) == ("changed", attributes)

    def test_modes_are_octal_and_owners_readable(self) -> None:
        found = self.change({}, {"mode": 0o600, "user": {"name": "core"}, "group": {"id": 7}})
        assert (found.mode, found.owner) == (Change("0644", "0600"), Change("0:0", "core:7"))

    @pytest.mark.parametrize(
        ("mode", "kind"), [(0o600, "masked"), (0o700, "masked"), (0o640, "text"), (0, "masked")]
    )
    def test_what_only_its_owner_may_read_is_not_shown(self, mode: int, kind: str) -> None:
        new = {"contents": {"source": "data:,2"}}
        for found in (self.change({"mode": mode}, new), self.change({}, new | {"mode": mode})):
            assert found.contents is not None and found.contents.kind == kind

    def test_added_and_removed(self) -> None:
        assert (self.change(None, {}).change, self.change({}, None).change) == ("added", "removed")

    def test_in_the_order_of_paths(self) -> None:
        old, new = make(files={"/b": "", "/d": ""}), make(files={"/c": "", "/a": ""})
        found = files.of(old, new, compare(old, new))
        assert [file.path for file in found] == ["/a", "/b", "/c", "/d"]


class TestUnits:
    @staticmethod
    def change(old: Target, new: Target) -> UnitChange:
        (found,) = units.of(old, new, compare(old, new))
        return found

    def test_everything_that_can_differ(self) -> None:
        old = make(units=[unit("a.service", "[Unit]\n", enabled=True, dropins={"1.conf": "", "2.conf": ""})])
        new = make(units=[unit("a.service", "", mask=True, dropins={"2.conf": "[Unit]\n", "3.conf": ""})])
        found = self.change(old, new)
        assert found.attributes == ("contents", "dropins", "enabled", "mask")
        assert (found.enabled, found.mask) == (Change(True, None), Change(None, True))
        changes = [(dropin.name, dropin.change) for dropin in found.dropins]
        assert changes == [("1.conf", "removed"), ("2.conf", "changed"), ("3.conf", "added")]

    def test_the_order_of_dropins(self) -> None:
        dropins = {"1.conf": "", "2.conf": ""}
        old = make(units=[unit("a.service", dropins=dropins)])
        new = make(units=[unit("a.service", dropins=dict(reversed(dropins.items())))])
        (dropin,) = self.change(old, new).dropins
        assert dropin.change == "moved"

    def test_a_secret_in_a_dropin_hides_that_dropin(self) -> None:
        old = make(units=[unit("a.service", "[Unit]\n", dropins={"1.conf": "[Unit]\n"})])
        hidden = {"1.conf": "[Service]\nEnvironment=TOKEN=hunter2\n"}
        found = self.change(old, make(units=[unit("a.service", "[Unit]\nA=b\n", dropins=hidden)]))
        assert found.dropins == (
            DropinChange(name="1.conf", change="changed", contents=Contents(kind="masked")),
        )
        assert found.contents is not None
        assert found.contents.kind == "text"


def account_changes(old: dict[str, Any], new: dict[str, Any]) -> AccountChanges:
    sides = make(ignition=old), make(ignition=new)
    found = accounts.of(*sides, compare(*sides))
    assert found is not None
    return found


class TestAccounts:
    def test_keys_by_fingerprint(self) -> None:
        other = {"name": "core", "sshAuthorizedKeys": ["not a key", KEY]}
        (user,) = account_changes(users({"name": "core", "sshAuthorizedKeys": [KEY]}), users(other)).users
        assert (user.keys_added, user.keys_removed, user.keys_reordered) == ((Key(),), (), False)
        (user,) = account_changes({}, users({"name": "core", "sshAuthorizedKeys": [KEY]})).users
        assert (user.change, user.keys_added) == ("added", (Key("ssh-ed25519", PRINT, "me@host"),))

    @pytest.mark.parametrize(
        ("line", "key"),
        [
            (KEY, Key("ssh-ed25519", PRINT, "me@host")),
            (f'command="echo hunter2",no-pty {KEY}', Key("ssh-ed25519", PRINT, "me@host")),
            (KEY.removesuffix(" me@host"), Key("ssh-ed25519", PRINT)),
            (KEY.replace("me@host", "token=hunter2"), Key("ssh-ed25519", PRINT, "***")),
            (KEY.replace("ssh-ed25519 ", "ssh-rsa "), Key()),
            ("hunter2", Key()),
            ("", Key()),
        ],
    )
    def test_lines(self, line: str, key: Key) -> None:
        assert accounts.key(line) == key

    @pytest.mark.parametrize(
        ("old", "new", "password"),
        [(None, "$6$a", "set"), ("$6$a", "$6$b", "changed"), ("$6$a", None, "removed"), ("", "$6$a", "set")],
    )
    def test_passwords_without_their_hash(self, old: str | None, new: str | None, password: str) -> None:
        sides = [
            users({"name": "core", "uid": 5} | ({"passwordHash": h} if h is not None else {}))
            for h in (old, new)
        ]
        found = account_changes(*sides)
        assert found.users[0].password == password
        assert "$6$" not in str(found)

    def test_other_fields_and_groups(self) -> None:
        old = {"passwd": {"groups": [{"name": "g"}], "users": [{"name": "core"}]}}
        new = {"passwd": {"groups": [{"name": "h"}], "users": [{"name": "core", "homeDir": "/x"}]}}
        found = account_changes(old, new)
        assert found.users[0].attributes == ("homeDir",)
        assert found.groups == ("g", "h")


@pytest.mark.parametrize(
    ("old", "new", "added", "removed", "reordered"),
    [
        ("", "a", "a", "", False),
        ("a", "", "", "a", False),
        ("a b", "b a", "", "", True),
        ("a b", "b c", "c", "a", False),
        ("a a", "a", "", "a", False),
        ("a", "a a", "a", "", False),
        ("a b c", "c d a", "d", "b", True),
    ],
)
def test_lists(old: str, new: str, added: str, removed: str, reordered: bool) -> None:
    found = parts.list_change(old.split(), new.split())
    wanted = ListChange(
        old=tuple(old.split()),
        new=tuple(new.split()),
        added=tuple(added.split()),
        removed=tuple(removed.split()),
        reordered=reordered,
    )
    assert found == wanted


def test_older_and_newer_versions_of_the_same_config_are_no_change() -> None:
    old: dict[str, Any] = {"ignition": {"ignition": {"version": "3.1.0"}}, "files": ()}
    found = decide((old, {}))
    assert (actions(found), found.exit_code) == (NONE, 0)
    entry = plain("/a") | {"mode": 0o644}
    second = {"ignition": {"version": "2.2.0"}, "storage": {"files": [entry | {"filesystem": "root"}]}}
    found = decide(({"ignition": second}, {"files": [entry | {"overwrite": True}]}))
    assert (found.files, found.exit_code) == ((), 0)


def test_a_reordering_is_a_change_that_asks_for_nothing() -> None:
    one, two = plain("/etc/1"), plain("/etc/2")
    found = decide(({"files": [one, two]}, {"files": [two, one]}))
    assert (found.actions, found.because, found.drain, found.exit_code) == ((), (), False, 1)
    assert [(file.path, file.change) for file in found.files] in (
        [("/etc/1", "moved")],
        [("/etc/2", "moved")],
    )
    both = [unit("a.service", "[Unit]\n"), unit("b.service", "[Unit]\n")]
    assert [u.change for u in decide(({"units": both}, {"units": both[::-1]})).units] == ["moved"]
