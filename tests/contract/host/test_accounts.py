from __future__ import annotations

import pytest

from mco.base.errors import HostError, InvalidInput
from mco.host.errors import CommandError
from mco.host.machine import Host

HASH = "$6$rounds=5000$salt$" + "x" * 86
KEYS = "/home/core/.ssh/authorized_keys.d/ignition"


def test_names_are_the_machines_own(host: Host) -> None:
    user = host.accounts.user("core")
    assert (user.uid, user.home) == (1000, "/home/core")
    assert host.accounts.shell("core").endswith("sh")
    assert host.accounts.uid("root") == 0
    assert host.accounts.gid("sudo") == 27
    assert host.accounts.find("nobody-here") is None


def test_unknown_names_have_the_originals_text(host: Host) -> None:
    with pytest.raises(HostError, match=r"^user: unknown user nobody-here$"):
        host.accounts.uid("nobody-here")
    with pytest.raises(HostError, match=r"^group: unknown group nobody-here$"):
        host.accounts.gid("nobody-here")


def test_damaged_lines_hide_nothing(host: Host) -> None:
    before = host.root.read("/etc/group")
    host.root.write("/etc/group", b"\xff\nbroken\nbroken:x:y:\n\n" + before)
    try:
        assert host.accounts.gid("sudo") == 27
    finally:
        host.root.write("/etc/group", before)


def test_a_password_hash_is_set_once(host: Host) -> None:
    assert host.accounts.set_password_hash("core", HASH)
    assert host.accounts.password_hash("core") == HASH
    assert not host.accounts.set_password_hash("core", HASH)
    assert host.accounts.set_password_hash("core", "")
    assert host.accounts.password_hash("core") == "*"


def test_hashes_that_would_change_other_fields_or_users_are_refused(host: Host) -> None:
    before = host.root.read("/etc/shadow")
    for bad in ("a:b", "a\nroot:x", "a\0"):
        with pytest.raises(InvalidInput) as caught:
            host.accounts.set_password_hash("core", bad)
        assert bad not in str(caught.value)
    assert host.root.read("/etc/shadow") == before


def test_a_failure_does_not_show_the_hash(host: Host) -> None:
    with pytest.raises(HostError, match="unknown user") as caught:
        host.accounts.set_password_hash("nobody-here", HASH)
    assert HASH not in str(caught.value)
    with pytest.raises(CommandError) as failed:
        host.commands.run("chpasswd", "-e", stdin=f"nobody-here:{HASH}\n")
    assert HASH not in str(failed.value)


def test_keys_are_the_users_and_nobody_elses(host: Host) -> None:
    assert host.ssh.path("core") == KEYS
    assert host.ssh.write("core", ["ssh-ed25519 AAAA one", "ssh-ed25519 BBBB two"])
    assert host.root.read(KEYS) == b"ssh-ed25519 AAAA one\nssh-ed25519 BBBB two\n"
    modes = {"/home/core/.ssh": 0o700, "/home/core/.ssh/authorized_keys.d": 0o700, KEYS: 0o600}
    for path, mode in modes.items():
        status = host.root.stat(path)
        assert status is not None
        assert (status.permissions, status.uid) == (mode, 1000), path
    assert host.ssh.write("core", [])
    assert host.root.read(KEYS) == b""


def test_keys_of_a_user_that_is_not_there_are_skipped(host: Host) -> None:
    assert host.ssh.path("nobody-here") is None
    assert not host.ssh.write("nobody-here", ["ssh-ed25519 AAAA"])


def test_a_key_is_one_line(host: Host) -> None:
    with pytest.raises(InvalidInput, match="newline"):
        host.ssh.write("core", ["ssh-ed25519 AAAA\nssh-ed25519 BBBB"])


def test_a_folder_of_somebody_else_is_replaced(host: Host) -> None:
    host.root.remove_tree("/home/core/.ssh")
    host.root.mkdir("/home/core/.ssh", 0o755, (0, 0))
    host.root.write("/home/core/.ssh/left", b"")
    host.ssh.write("core", ["k"])
    status = host.root.stat("/home/core/.ssh")
    assert status is not None
    assert (status.permissions, status.uid) == (0o700, 1000)
    assert host.root.list("/home/core/.ssh") == ["authorized_keys.d"]


@pytest.mark.parametrize("place", ["/home/core/.ssh", "/home/core/.ssh/authorized_keys.d", KEYS])
def test_a_link_that_the_user_laid_is_replaced_and_its_target_left_alone(host: Host, place: str) -> None:
    host.root.write("/etc/t-victim/ignition", b"theirs")
    host.root.remove_tree("/home/core/.ssh")
    host.root.symlink(place, "/etc/t-victim" + ("/ignition" if place == KEYS else ""), owner=(1000, 1000))
    if place != "/home/core/.ssh":
        host.root.set_owner_and_mode("/home/core/.ssh", 0o700, (1000, 1000))
    host.ssh.write("core", ["k"])
    assert host.root.read("/etc/t-victim/ignition") == b"theirs"
    assert host.root.list("/etc/t-victim") == ["ignition"]
    status = host.root.stat("/etc/t-victim")
    assert status is not None
    assert status.owner == (0, 0)
    assert host.root.read(KEYS, follow=False) == b"k\n"
