from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.base.errors import InvalidInput
from mco.host.bls import (
    boot_order,
    checked_arguments,
    default_entry,
    default_pattern,
    entries_of,
    parse_entry,
    split_arguments,
    with_default,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("   ", ()),
        ("a b", ("a", "b")),
        ("  a\t\tb \n c\v\f\rd", ("a", "b", "c", "d")),
        ('a="b c" d', ('a="b c"', "d")),
        ('"a b"', ('"a b"',)),
        ('a" "b c', ('a" "b', "c")),
        ('a="b\\" c', ('a="b\\"', "c")),
        ('a="unclosed b', ('a="unclosed b',)),
        ("a\u00a0b", ("a\u00a0b",)),
        ("a a", ("a", "a")),
    ],
)
def test_arguments_are_split_as_the_kernel_does(text: str, expected: tuple[str, ...]) -> None:
    assert split_arguments(text) == expected


Argument = st.from_regex(r'[a-z0-9_.]+(=("[a-z ]*"|[a-z0-9,/:-]*))?', fullmatch=True)


@given(st.lists(Argument), st.sampled_from([" ", "  ", "\t", " \n"]))
def test_joining_and_splitting_gives_the_same_arguments(arguments: list[str], space: str) -> None:
    assert split_arguments(space.join(arguments)) == tuple(arguments)


@given(st.lists(st.lists(Argument), max_size=4))
def test_entries_of_a_list_may_hold_several(entries: list[list[str]]) -> None:
    flat = tuple(argument for entry in entries for argument in entry)
    assert checked_arguments(" ".join(entry) for entry in entries) == flat


@pytest.mark.parametrize("bad", ["a\n", "a\0b", "a\x7f", "\x01", 'a"'])
def test_arguments_that_damage_a_line_are_refused(bad: str) -> None:
    with pytest.raises(InvalidInput, match="kernel argument"):
        checked_arguments(["good", bad])


ENTRY = """\
# a comment
title  Debian  GNU/Linux
version\t6.1
options root=LABEL=root ro
options   quiet
#mco-arguments ["x"]
linux
"""


def test_an_entry_has_repeated_options_and_comments() -> None:
    entry = parse_entry("debian.conf", ENTRY)
    assert entry.id == "debian"
    assert entry.arguments == ("root=LABEL=root", "ro", "quiet")
    assert (entry.value("title"), entry.value("version"), entry.value("linux")) == (
        "Debian  GNU/Linux",
        "6.1",
        "",
    )
    assert (entry.note("mco-arguments"), entry.note("other")) == ('["x"]', None)


@pytest.mark.parametrize(
    ("files", "order"),
    [
        (["a", "b"], ["b", "a"]),
        (["k-6.9", "k-6.10", "k-6.2"], ["k-6.10", "k-6.9", "k-6.2"]),
        (["k-6.1", "k-6.1~rc1"], ["k-6.1", "k-6.1~rc1"]),
        (["new+0-3", "old"], ["old", "new+0-3"]),
        (["new+2-1", "old"], ["old", "new+2-1"]),
    ],
)
def test_the_newest_is_first_and_what_is_out_of_tries_last(files: list[str], order: list[str]) -> None:
    entries = entries_of({f"{name}.conf": "" for name in files})
    assert [entry.id for entry in boot_order(entries)] == order


def test_entries_with_a_sort_key_come_first_newest_version_first() -> None:
    files = {
        "zzz.conf": "version 9\n",
        "a.conf": "sort-key debian\nmachine-id 1\nversion 6.9\n",
        "b.conf": "sort-key debian\nmachine-id 1\nversion 6.10\n",
        "c.conf": "sort-key arch\nversion 1\n",
        "readme.txt": "",
    }
    assert [entry.id for entry in boot_order(entries_of(files))] == ["c", "b", "a", "zzz"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a.conf", "a"),
        ("a", "a"),
        ("A.conf", "a"),
        ("k-*", "k-2"),
        ("k-?.conf", "k-2"),
        ("", "z"),
        ("gone.conf", "z"),
        ("@saved", "z"),
    ],
)
def test_the_default_is_a_name_or_a_glob_and_else_the_first(pattern: str, expected: str) -> None:
    entries = entries_of({f"{name}.conf": "" for name in ("a", "k-1", "k-2", "z")})
    found = default_entry(entries, pattern)
    assert found is not None
    assert found.id == expected


def test_without_entries_there_is_no_default() -> None:
    assert default_entry([], "*") is None


@pytest.mark.parametrize(
    ("conf", "pattern", "expected"),
    [
        ("", "a.conf", "default a.conf\n"),
        ("timeout 3\ndefault x\n", "a.conf", "timeout 3\ndefault a.conf\n"),
        ("default x\ntimeout 3", "a.conf", "timeout 3\ndefault a.conf\n"),
        ("timeout 3\ndefault x\n", "", "timeout 3\n"),
        ("# default y\n\n", "a", "# default y\n\ndefault a\n"),
    ],
)
def test_switching_the_default_keeps_everything_else(conf: str, pattern: str, expected: str) -> None:
    assert with_default(conf, pattern) == expected
    assert default_pattern(expected) == pattern
