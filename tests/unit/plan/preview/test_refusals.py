"""The verdict on changes that a node cannot follow, or that its daemon refuses (spec/render.md 7.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.daemon.builders import unit
from tests.unit.plan.node.configs import CORE, plain, users
from tests.unit.plan.preview.sides import NONE, Sides, actions, decide

STORAGE = {
    "disks": ([{"device": "/dev/x", "wipeTable": True}], "Disks"),
    "filesystems": ([{"device": "/dev/x", "path": "/data", "format": "ext4"}], "FileSystems"),
    "raid": ([{"name": "md0", "level": "raid1", "devices": ["/dev/a", "/dev/b"]}], "Raid"),
}


@pytest.mark.parametrize("section", STORAGE)
@pytest.mark.parametrize("removed", [False, True])
def test_a_section_that_only_an_override_lets_pass(section: str, removed: bool) -> None:
    value, override = STORAGE[section]
    old: dict[str, Any] = {}
    new: dict[str, Any] = {"ignition": {"storage": {section: value}}}
    sides: Sides = (new, old) if removed else (old, new)
    refused = decide(sides)
    start = 'new machineconfig "rendered-worker-old" is not reconcilable against "rendered-worker-new": '
    assert refused.reason == f"{start}ignition {section} section contains changes"
    assert (refused.reconcilable, refused.actions, refused.drain, refused.reboot) == (False, (), False, False)
    assert refused.exit_code == 2
    passed = decide(sides, overrides=(override,))
    assert (passed.reconcilable, actions(passed), passed.exit_code) == (True, NONE, 0)
    assert passed.ignored == (f"storage.{section}",)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ({}, {"fips": True}, "detected change to FIPS flag; refusing to modify FIPS on a running cluster"),
        (
            {},
            {"ignition": {"storage": {"directories": [{"path": "/etc/d"}]}}},
            "ignition directories section contains changes",
        ),
        (
            {},
            {"ignition": {"storage": {"links": [{"path": "/etc/l", "target": "/x"}]}}},
            "ignition links section contains changes",
        ),
        ({}, {"ignition": users({"name": "root"})}, "unsupported changes: non-core user"),
        (
            {"ignition": users(CORE)},
            {"ignition": users({"name": "core"})},
            "unsupported changes: user must be core and have 1 or more sshKeys",
        ),
        (
            {},
            {"files": [plain("/run/machine-config-daemon-force")]},
            "cannot create /run/machine-config-daemon-force via Ignition",
        ),
    ],
)
def test_what_a_node_cannot_follow(old: dict[str, Any], new: dict[str, Any], reason: str) -> None:
    found = decide((old, new))
    assert found.reason.endswith(reason)
    assert (found.reconcilable, found.actions, found.because, found.exit_code) == (False, (), (), 2)


def test_a_config_that_cannot_be_parsed_still_shows_the_rest() -> None:
    found = decide(({}, {"ignition": {"ignition": {"version": "9.9.9"}}, "osImageURL": "x"}))
    assert found.reason.startswith(
        'parsing new Ignition config from machineconfig "rendered-worker-new" failed'
    )
    assert found.os is not None
    assert (found.reconcilable, found.exit_code) == (False, 2)


@pytest.mark.parametrize(
    ("garbage", "shown"),
    [("x", '"x"'), ("password=hunter2", '"password=***"'), ('token="hunter2" more', '"token=***"')],
)
def test_a_verdict_that_quotes_contents_masks_them(garbage: str, shown: str) -> None:
    found = decide(({}, {"units": [unit("a.service", f"[Service]{garbage}\n")]}))
    assert f"found garbage after section name : {shown}" in found.reason
    assert "hunter2" not in found.reason


def test_what_only_our_daemon_refuses_is_said_beside_the_verdict() -> None:
    found = decide(({}, {"files": [plain("/etc/a"), plain("/etc/a/b")]}))
    assert found.reconcilable
    (refusal,) = found.refused
    assert refusal.path == "$.spec.config.storage.files.1.path"
    assert refusal.hint
    assert found.exit_code == 2
