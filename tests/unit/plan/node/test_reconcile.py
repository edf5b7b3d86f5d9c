"""Which changes a running node cannot follow (spec/render.md 7.2, 13.3; spec/daemon.md 6.4, 15.1)."""

from __future__ import annotations

from typing import Any

import pytest

from mco.base.errors import InvalidInput
from mco.plan.node.reconcile import refusal
from mco.plan.node.target import Target, pair
from tests.daemon.builders import config, typed
from tests.unit.plan.node.configs import CORE, make, plain, users

NOT_RECONCILABLE = (
    'new machineconfig "rendered-worker-old" is not reconcilable against "rendered-worker-new": '
)
PASSWD = "invalid passwd change(s): "
USERS = PASSWD + "ignition passwd user section contains unsupported changes: "


def storage(**sections: Any) -> dict[str, Any]:
    return {"storage": sections}


DISK = storage(disks=[{"device": "/dev/sdx", "wipeTable": True}])
FILESYSTEM = storage(filesystems=[{"device": "/dev/sdx1", "path": "/data", "format": "ext4"}])
RAID = storage(raid=[{"name": "md0", "level": "raid1", "devices": ["/dev/a", "/dev/b"]}])
LUKS = storage(luks=[{"name": "data", "device": "/dev/sdx1"}])
LINK = storage(links=[{"path": "/etc/l", "target": "/etc/t"}])
FOLDER = storage(directories=[{"path": "/etc/d"}])


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            {},
            {"passwd": {"groups": [{"name": "g"}]}},
            PASSWD + "ignition Passwd Groups section contains changes",
        ),
        ({}, users({"name": "other"}), USERS + "non-core user"),
        (users(CORE), users(CORE, {"name": "other"}), USERS + "non-core user"),
        ({}, users({"name": "core"}), USERS + "user must be core and have 1 or more sshKeys"),
        (users(CORE), users({"name": "core"}), USERS + "user must be core and have 1 or more sshKeys"),
        (
            {},
            users(CORE | {"homeDir": "/x"}),
            PASSWD + "SSH keys and password hash are not reconcilable",
        ),
        ({}, {"kernelArguments": {"shouldExist": ["a"]}}, "ignition kargs section contains changes"),
        ({}, DISK, "ignition disks section contains changes"),
        (FILESYSTEM, {}, "ignition filesystems section contains changes"),
        (RAID, {}, "ignition raid section contains changes"),
        ({}, FOLDER, "ignition directories section contains changes"),
        (FOLDER, {}, "ignition directories section contains changes"),
        ({}, LINK, "ignition links section contains changes"),
        (
            storage(files=[plain("/etc/a") | {"append": [{"source": "data:,x"}]}]),
            storage(files=[plain("/etc/a") | {"append": [{"source": "data:,x"}]}]),
            "ignition file /etc/a includes append",
        ),
        (
            {},
            storage(files=[plain("/run/machine-config-daemon-force")]),
            "cannot create /run/machine-config-daemon-force via Ignition",
        ),
    ],
)
def test_refused(old: dict[str, Any], new: dict[str, Any], why: str) -> None:
    assert refusal(make("old", ignition=old), make("new", ignition=new)) == NOT_RECONCILABLE + why


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, users(CORE)),
        ({}, users({"name": "core", "passwordHash": "$6$x"})),
        (users(CORE), {}),
        (users({"name": "other"}), users({"name": "other"})),
        (LINK, {}),
        (LUKS, {}),
        (DISK, DISK),
        (FOLDER, FOLDER),
        ({}, storage(files=[plain("/etc/a")])),
    ],
)
def test_followed(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert refusal(make("old", ignition=old), make("new", ignition=new)) == ""


@pytest.mark.parametrize(
    ("change", "override"), [(DISK, "Disks"), (FILESYSTEM, "FileSystems"), (RAID, "Raid")]
)
def test_an_override_lets_its_own_section_pass(change: dict[str, Any], override: str) -> None:
    old, new = make("old", ignition=change), make("new")
    others = {"Disks", "FileSystems", "Raid"} - {override}
    assert refusal(old, new, overrides=others)
    assert not refusal(old, new, overrides={override})


@pytest.mark.parametrize(
    ("old", "new", "machine", "refused"),
    [
        (False, True, None, True),
        (True, False, True, True),
        (False, False, None, False),
        (True, True, False, True),
        (True, True, True, False),
    ],
)
def test_fips(old: bool, new: bool, machine: bool | None, refused: bool) -> None:
    why = refusal(make("old", fips=old), make("new", fips=new), fips=machine)
    text = "detected change to FIPS flag; refusing to modify FIPS on a running cluster"
    assert why == (NOT_RECONCILABLE + text if refused else "")


def test_everything_else_is_followed() -> None:
    old = make("old")
    new = make("new", osImageURL="x", extensions=["usbguard"], arguments=["a"], kernelType="realtime")
    assert refusal(old, new) == ""


class TestPair:
    def test_an_old_config_that_cannot_be_parsed(self) -> None:
        old = typed(config("old", ignition={"ignition": {"version": "4.0.0"}}))
        with pytest.raises(InvalidInput) as caught:
            pair(old, typed(config("new")))
        start = 'parsing old Ignition config from machineconfig "rendered-worker-old" failed: '
        assert str(caught.value).startswith(start)
        assert "unknown version. Supported spec versions: 2.2,3.0,3.1,3.2,3.3,3.4,3.5" in str(caught.value)

    def test_a_new_config_that_cannot_be_parsed(self) -> None:
        new = typed(config("new", files=[plain("relative")]))
        with pytest.raises(InvalidInput, match="parsing new Ignition config from machineconfig"):
            pair(typed(config("old")), new)

    def test_a_new_config_whose_modes_have_special_bits(self) -> None:
        new = typed(config("new", files=[plain("/etc/a") | {"mode": 0o1755}]))
        with pytest.raises(InvalidInput) as caught:
            pair(typed(config("old")), new)
        assert str(caught.value) == (
            'validating new Ignition config from machineconfig "rendered-worker-new" failed: '
            "invalid mode 01755 for /etc/a, cannot exceed 0777"
        )
        assert caught.value.path == "$.spec.config.storage.files.0.mode"

    def test_an_old_config_may_have_them(self) -> None:
        pair(typed(config("old", files=[plain("/etc/a") | {"mode": 0o1755}])), typed(config("new")))

    def test_older_versions_are_brought_up(self) -> None:
        old = typed(config("old", ignition={"ignition": {"version": "3.1.0"}}))
        sides = pair(old, typed(config("new")))
        assert [side.config.ignition.version for side in sides] == ["3.5.0", "3.5.0"]
        assert isinstance(sides[0], Target)
