from __future__ import annotations

import errno
import os

import pytest

from mco.base.errors import InvalidInput
from mco.host.errors import FileError, printable, system_errors
from mco.host.identity import OSRelease, parse_os_release
from mco.host.paths import ancestors, checked, split


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/", "/"), ("//", "/"), ("/a/", "/a"), ("/a//b/./c", "/a/b/c"), ("/.", "/"), ("/a/..b", "/a/..b")],
)
def test_paths_have_one_spelling(path: str, expected: str) -> None:
    assert checked(path) == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", 'path "" is not absolute'),
        ("a/b", 'path "a/b" is not absolute'),
        ("/a/../b", 'path /a/../b contains ".."'),
        ("/a\0b", r"path /a\x00b contains a NUL"),
    ],
)
def test_what_is_wrong_with_a_path_is_said(path: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        checked(path)
    assert str(caught.value) == message
    assert (caught.value.path, bool(caught.value.hint)) == (path, True)


def test_splitting_and_ancestors() -> None:
    assert split("/a/b//c") == ("/a/b", "c")
    assert split("/a") == ("/", "a")
    assert ancestors("/a/b/c") == ["/a", "/a/b"]
    assert ancestors("/a") == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/etc/motd", "/etc/motd"),
        ("/é", "/é"),
        (os.fsdecode(b"/\xff"), r"/\xff"),
        ("/a\nb", r"/a\nb"),
        ("/a\x1b[0m", r"/a\x1b[0m"),
    ],
)
def test_paths_are_shown_so_that_no_terminal_or_log_is_hurt(path: str, expected: str) -> None:
    assert printable(path) == expected
    assert printable(path).encode()


def test_system_errors_name_operation_and_path() -> None:
    with pytest.raises(FileError) as caught, system_errors("write", "/etc/motd"):
        raise OSError(errno.ENOSPC, "whatever the library says")
    assert str(caught.value) == "write /etc/motd: no space left on device"
    assert (caught.value.errno, caught.value.path) == (errno.ENOSPC, "/etc/motd")
    assert caught.value.hint


def test_os_release_is_read_as_a_shell_would() -> None:
    text = """
# comment
NAME='Some Linux'
ID=some
ID_LIKE="debian ubuntu"
VERSION_ID="12"
VARIANT_ID=server
PRETTY_NAME="Some \\"Linux\\" 12"
BROKEN="unclosed
"""
    assert parse_os_release(text) == OSRelease(
        id="some",
        id_like=("debian", "ubuntu"),
        version_id="12",
        variant_id="server",
        pretty_name='Some "Linux" 12',
    )
    assert parse_os_release("") == OSRelease()
