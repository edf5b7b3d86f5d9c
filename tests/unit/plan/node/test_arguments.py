"""Kernel arguments (spec/daemon.md 6.13, 15.1, 15.2)."""

from __future__ import annotations

import pytest

from mco.plan.node import arguments


@pytest.mark.parametrize(
    ("old", "new", "deleted", "appended"),
    [
        (None, ["hello=world"], [], ["hello=world"]),
        (["hello=world"], None, ["hello=world"], []),
        (["foo", "bar=1", "hello=world"], ["hello=world"], ["foo", "bar=1", "hello=world"], ["hello=world"]),
        (
            ["foo", "bar=1 hello=world", "baz"],
            ["foo", "bar=1", "hello=world"],
            ["foo", "bar=1", "hello=world", "baz"],
            ["foo", "bar=1", "hello=world"],
        ),
        (
            [' baz=test bar="hello world"'],
            [' baz=test bar="hello world"', "foo"],
            ["baz=test", 'bar="hello world"'],
            ["baz=test", 'bar="hello world"', "foo"],
        ),
        (
            ["hugepagesz=1G hugepages=4", "hugepagesz=2M hugepages=4"],
            ["hugepagesz=1G hugepages=4", "hugepagesz=2M hugepages=6"],
            ["hugepagesz=1G", "hugepages=4", "hugepagesz=2M", "hugepages=4"],
            ["hugepagesz=1G", "hugepages=4", "hugepagesz=2M", "hugepages=6"],
        ),
    ],
)
def test_commands(
    old: list[str] | None, new: list[str] | None, deleted: list[str], appended: list[str]
) -> None:
    wanted = [("delete-if-present", word) for word in deleted] + [("append", word) for word in appended]
    assert list(arguments.commands(old, new)) == wanted


@pytest.mark.parametrize(
    ("requested", "running", "same"),
    [
        (["A", "B"], ["A", "B"], True),
        (["B", "A"], ["A", "B"], False),
        (["A", "B", "A"], ["A", "B"], False),
        (["A", "B", "A"], ["A", "A", "B"], False),
        (["A", "B", "A"], ["A", "B", "A"], True),
        (["A"], ["ro", "A", "quiet"], True),
    ],
)
def test_first_boot_compares_in_running_order(requested: list[str], running: list[str], same: bool) -> None:
    assert (list(arguments.in_running_order(requested, running)) == requested) is same


@pytest.mark.parametrize(
    ("wanted", "present", "missing"),
    [
        (["a"], ["ro", "a"], []),
        (["a", "a"], ["a"], ["a"]),
        (["b", "a"], ["a"], ["b"]),
        ([], ["a"], []),
    ],
)
def test_missing_counts(wanted: list[str], present: list[str], missing: list[str]) -> None:
    assert list(arguments.missing(wanted, present)) == missing
