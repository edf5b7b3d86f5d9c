"""The differences between two configs (spec/daemon.md 6.1, 15.1)."""

from __future__ import annotations

import pytest

from mco.plan.node.diff import compare
from mco.plan.node.target import EMPTY, Target
from tests.daemon.builders import unit
from tests.unit.plan.node.configs import CORE, make, plain, users

BASE = make()


@pytest.mark.parametrize(
    ("old", "new", "flags"),
    [
        (EMPTY, EMPTY, ()),
        (BASE, make(osImageURL="quay.io/a@sha256:1"), ("os_image",)),
        (make(kernelArguments=None), make(kernelArguments=[]), ()),
        (BASE, make(arguments=["a", "b"]), ("kernel_arguments",)),
        (make(arguments=["a", "b"]), make(arguments=["b", "a"]), ("kernel_arguments",)),
        (BASE, make(fips=True), ("fips",)),
        (BASE, make(kernelType="realtime"), ("kernel_type",)),
        (make(kernelType="default"), make(kernelType=""), ()),
        (make(extensions=None), make(extensions=[]), ()),
        (BASE, make(extensions=["usbguard"]), ("extensions",)),
        (BASE, make(ignition=users(CORE)), ("passwd",)),
        (make(ignition=users(CORE)), make(ignition=users(CORE | {"sshAuthorizedKeys": ["x"]})), ("passwd",)),
        (BASE, make(ignition=users({"name": "core", "passwordHash": "$6$x"})), ("passwd",)),
        (
            make(ignition=users({"name": "core", "passwordHash": "$6$x"})),
            make(ignition=users({"name": "core", "passwordHash": "$6$y"})),
            ("passwd",),
        ),
        (BASE, make(files={"/etc/a": "x"}), ("files",)),
        (make(files={"/etc/a": "x"}), BASE, ("files",)),
        (BASE, make(units=[unit("a.service", "[Unit]\n")]), ("units",)),
        (BASE, make(ignition={"storage": {"directories": [{"path": "/etc/d"}]}}), ()),
    ],
)
def test_flags(old: Target, new: Target, flags: tuple[str, ...]) -> None:
    assert compare(old, new).flags == flags


def test_the_force_file_counts_as_an_os_change() -> None:
    assert compare(BASE, BASE, forced=True).flags == ("os_image",)


def test_changed_files_are_named_in_the_order_of_the_new_config_then_what_is_gone() -> None:
    old = make(files={"/etc/kept": "x", "/etc/gone": "x", "/etc/changed": "x"})
    new = make(files=[plain("/etc/new"), plain("/etc/changed", "y"), plain("/etc/kept", "x")])
    assert compare(old, new).changed_files == ("/etc/new", "/etc/changed", "/etc/gone")


def test_a_reordering_is_a_difference_without_a_changed_path() -> None:
    old, new = make(files={"/etc/a": "x", "/etc/b": "y"}), make(files={"/etc/b": "y", "/etc/a": "x"})
    changes = compare(old, new)
    assert (changes.flags, changes.changed_files) == (("files",), ())


def test_any_attribute_of_a_file_or_unit_counts() -> None:
    old = make(files=[plain("/etc/a")], units=[unit("a.service", "[Unit]\n")])
    new = make(files=[plain("/etc/a") | {"mode": 384}], units=[unit("a.service", "[Unit]\n", enabled=True)])
    changes = compare(old, new)
    assert (changes.changed_files, changes.changed_units) == (("/etc/a",), ("a.service",))
