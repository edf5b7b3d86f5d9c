"""The verdict on pairs of configs, as spec/node.md 6 and spec/render.md 7.2 have it: every built-in policy in
every way in which a file can change, pairs of policies, the system's parts, and what cannot be followed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import pytest

from mco.api.machineconfiguration import (
    Action,
    DisruptionPolicies,
    FilePolicy,
    SSHKeyPolicy,
    UnitPolicy,
)
from mco.plan.node.policies import DEFAULT, merged, reload, restart
from mco.plan.preview.preview import Preview, preview
from tests.daemon.builders import config, typed, unit
from tests.unit.plan.node.configs import CORE, plain, users

NONE: list[tuple[str, str]] = [("None", "")]
REBOOT = [("Reboot", "")]
RELOAD_CRIO = [("Reload", "crio.service")]
TRUST = ("Restart", "coreos-update-ca-trust.service")
REGISTRY = [("Restart", "iri-registry.service")]
KUBELET = ("Restart", "kubelet.service")
DIGESTS = '[[registry]]\nlocation = "a"\nmirror-by-digest-only = true\n'

# Each path with the policy that it meets: spec/node.md 6.2, in its order.
BUILT_IN: dict[str, list[tuple[str, str]]] = {
    "/var/lib/kubelet/config.json": NONE,
    "/etc/machine-config-daemon/no-reboot/containers-gpg.pub": RELOAD_CRIO,
    "/etc/containers/policy.json": RELOAD_CRIO,
    "/etc/containers/registries.conf": [("Special", "")],
    "/etc/containers/registries.d/a.yaml": RELOAD_CRIO,
    "/etc/containers/registries.d/deep/a.yaml": RELOAD_CRIO,
    "/etc/crio/policies/ns.json": RELOAD_CRIO,
    "/etc/nmstate/openshift/node.yml": NONE,
    "/etc/nmstate/openshift/deep/node.yml": NONE,
    "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt": [
        TRUST,
        ("Restart", "crio.service"),
    ],
    "/etc/kubernetes/credential-providers/ecr.yaml": [KUBELET],
    "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf": [
        ("DaemonReload", ""),
        KUBELET,
    ],
    "/etc/iri-registry/a": REGISTRY,
    "/usr/local/bin/load-registry-image.sh": REGISTRY,
    "/etc/pki/ca-trust/source/anchors/iri-root-ca.crt": [TRUST],
}

# What looks like one of them and is none.
STRANGERS = (
    "/etc/motd",
    "/var/lib/kubelet/config.json.bak",
    "/var/lib/kubelet",
    "/etc/machine-config-daemon/no-reboot/other.pub",
    "/etc/containers",
    "/etc/containers/registries.conf.d/a.conf",
    "/etc/containers/registries.dx",
    "/etc/containers/storage.conf",
    "/etc/crio/crio.conf.d/00-default",
    "/etc/nmstate/other.yml",
    "/etc/pki/ca-trust/source/anchors/other.crt",
    "/etc/kubernetes/kubelet-ca.crt",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/credential-providers.d/a",
    "/etc/systemd/system/kubelet.service.d/10-other.conf",
    "/etc/systemd/system/kubelet.service",
    "/usr/local/bin/other.sh",
)

Sides = tuple[dict[str, Any], dict[str, Any]]


def decide(sides: Sides, known: DisruptionPolicies = DEFAULT, overrides: tuple[str, ...] = ()) -> Preview:
    old, new = sides
    return preview(typed(config("old", **old)), typed(config("new", **new)), known, overrides)


def actions(found: Preview) -> list[tuple[str, str]]:
    assert len(found.because) == len(found.actions)
    return [(action.type, action.service) for action in found.actions]


def ways(path: str) -> Iterator[Sides]:
    """Every way in which one file can change."""
    entry = plain(path, DIGESTS)
    for changed in (
        plain(path, DIGESTS + "# more\n"),
        entry | {"mode": 0o600},
        entry | {"user": {"id": 5}},
        entry | {"group": {"name": "g"}},
        entry | {"overwrite": True},
        plain(path, DIGESTS) | {"contents": {"source": "data:;base64,"}},
    ):
        yield {"files": [entry]}, {"files": [changed]}
    yield {}, {"files": [entry]}
    yield {"files": [entry]}, {}


BUILT_IN_PAIRS = [(path, sides) for path in BUILT_IN for sides in ways(path)]
STRANGER_PAIRS = [(path, sides) for path in STRANGERS for sides in ways(path)]


@pytest.mark.parametrize(("path", "sides"), BUILT_IN_PAIRS)
def test_a_file_of_a_built_in_policy(path: str, sides: Sides) -> None:
    found = decide(sides)
    assert found.reconcilable
    assert actions(found) == BUILT_IN[path]
    assert [file.path for file in found.files] == [path]
    # Only a registry that goes away hurts a running pod here.
    registries = path.endswith("registries.conf")
    gone = registries and (not sides[1] or sides[1]["files"][0]["contents"]["source"] == "data:;base64,")
    assert (found.drain, found.reboot, found.exit_code) == (gone, False, 1)


@pytest.mark.parametrize(("path", "sides"), STRANGER_PAIRS)
def test_a_file_without_a_policy(path: str, sides: Sides) -> None:
    found = decide(sides)
    assert (actions(found), found.drain, found.reboot, found.exit_code) == (REBOOT, True, True, 1)
    assert found.because == (f"Reboot: no policy for file {path}",)


@pytest.mark.parametrize("paths", list(combinations(BUILT_IN, 2)))
def test_two_files_of_built_in_policies(paths: tuple[str, str]) -> None:
    """Everything that either asks for, once; None only where nothing else is; whatever comes first."""
    wanted = {action for path in paths for action in BUILT_IN[path]}
    real = wanted - set(NONE) or wanted
    made = []
    for order in permutations(paths):
        found = decide(({}, {"files": [plain(path, DIGESTS) for path in order]}))
        assert len(found.actions) == len(real)
        assert set(actions(found)) == real
        made.append(found)
        for path in paths:
            asked = [action for action in actions(found) if action in BUILT_IN[path]]
            assert asked == [action for action in BUILT_IN[path] if action in real]
    assert made[0] == made[1]


@pytest.mark.parametrize("path", BUILT_IN)
def test_beside_a_file_without_a_policy_nothing_helps(path: str) -> None:
    found = decide(({}, {"files": [plain(path, DIGESTS), plain("/etc/motd")]}))
    assert actions(found) == REBOOT


SYSTEM: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("image", {"osImageURL": "a"}, {"osImageURL": "b"}, "the OS image"),
    ("argument", {"arguments": ["a"]}, {"arguments": ["a", "b"]}, "the kernel arguments"),
    ("argument gone", {"arguments": ["a"]}, {}, "the kernel arguments"),
    ("argument order", {"arguments": ["a", "b"]}, {"arguments": ["b", "a"]}, "the kernel arguments"),
    ("argument split", {"arguments": ["a b"]}, {"arguments": ["a", "b"]}, "the kernel arguments"),
    ("argument twice", {"arguments": ["a"]}, {"arguments": ["a", "a"]}, "the kernel arguments"),
    ("kernel", {}, {"kernelType": "realtime"}, "the kernel type"),
    ("kernel back", {"kernelType": "64k-pages"}, {"kernelType": "default"}, "the kernel type"),
    ("extension", {}, {"extensions": ["usbguard"]}, "the extensions"),
    (
        "extension order",
        {"extensions": ["usbguard", "ipsec"]},
        {"extensions": ["ipsec", "usbguard"]},
        "the extensions",
    ),
]


@pytest.mark.parametrize("path", [None, *list(BUILT_IN)[:5]])
@pytest.mark.parametrize(("old", "new", "what"), [row[1:] for row in SYSTEM], ids=[row[0] for row in SYSTEM])
def test_the_system_reboots_whatever_else_changes(
    old: dict[str, Any], new: dict[str, Any], what: str, path: str | None
) -> None:
    files = {"files": [plain(path, DIGESTS)]} if path else {}
    found = decide((old, new | files))
    assert (actions(found), found.drain, found.reboot) == (REBOOT, True, True)
    assert found.because == (f"Reboot: {what} changed",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"kernelType": "default"}),
        ({"kernelType": ""}, {"kernelType": "default"}),
        ({"extensions": []}, {}),
        ({"arguments": []}, {"arguments": []}),
        ({"baseOSExtensionsContainerImage": "a"}, {"baseOSExtensionsContainerImage": "b"}),
    ],
)
def test_what_is_no_change(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = decide((old, new))
    assert (actions(found), found.drain, found.reboot, found.exit_code) == (NONE, False, False, 0)


UNIT = unit("a.service", "[Unit]\n", enabled=True)
UNIT_CHANGES = [
    ([], [UNIT]),
    ([UNIT], []),
    ([UNIT], [UNIT | {"contents": "[Unit]\nA=b\n"}]),
    ([UNIT], [UNIT | {"enabled": False}]),
    ([UNIT], [{key: value for key, value in UNIT.items() if key != "enabled"}]),
    ([UNIT], [UNIT | {"mask": True}]),
    ([UNIT], [UNIT | {"mask": False}]),
    ([UNIT], [UNIT | {"dropins": [{"name": "10.conf", "contents": "[Unit]\n"}]}]),
    ([UNIT | {"dropins": [{"name": "10.conf", "contents": "[Unit]\n"}]}], [UNIT]),
    (
        [UNIT | {"dropins": [{"name": "10.conf", "contents": "[Unit]\n"}]}],
        [UNIT | {"dropins": [{"name": "10.conf", "contents": "[Unit]\nA=b\n"}]}],
    ),
]


@pytest.mark.parametrize(("old", "new"), UNIT_CHANGES)
def test_units_follow_their_name_alone(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    sides: Sides = ({"units": old}, {"units": new})
    assert actions(decide(sides)) == REBOOT
    wanted = (Action(type="DaemonReload"), restart("a.service"))
    known = merged(DisruptionPolicies(units=(UnitPolicy(name="a.service", actions=wanted),)))
    found = decide(sides, known)
    assert actions(found) == [("DaemonReload", ""), ("Restart", "a.service")]
    assert [changed.name for changed in found.units] == ["a.service"]
    other = merged(DisruptionPolicies(units=(UnitPolicy(name="a", actions=wanted),)))
    assert actions(decide(sides, other)) == REBOOT


HASH = {"name": "core", "passwordHash": "$6$x"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, users(CORE)),
        (users(CORE), {}),
        (users(CORE), users(CORE | HASH)),
        (users(CORE | HASH), users(CORE)),
        (users(HASH), users(HASH | {"passwordHash": "$6$y"})),
        (users(CORE), users(CORE | {"sshAuthorizedKeys": ["ssh-ed25519 AAAA one", "ssh-ed25519 AAAA two"]})),
    ],
)
def test_keys_and_passwords_follow_the_policy_for_keys(old: dict[str, Any], new: dict[str, Any]) -> None:
    sides: Sides = ({"ignition": old}, {"ignition": new})
    found = decide(sides)
    assert (actions(found), found.drain, found.exit_code) == (NONE, False, 1)
    assert found.passwd is not None
    for action, wanted in (
        (Action(type="Reboot"), REBOOT),
        (restart("sshd.service"), [("Restart", "sshd.service")]),
        (Action(type="Drain"), [("Drain", "")]),
    ):
        known = merged(DisruptionPolicies(sshkey=SSHKeyPolicy(actions=(action,))))
        assert actions(decide(sides, known)) == wanted


USER = merged(
    DisruptionPolicies(
        files=(
            FilePolicy(path="/etc/a", actions=(restart("a.service"),)),
            FilePolicy(path="/etc/a/b", actions=(Action(type="None"),)),
            FilePolicy(path="/etc/a/b/c", actions=(Action(type="Drain"), reload("c.service"))),
            FilePolicy(path="/etc/quiet"),
            FilePolicy(path="/etc/boot", actions=(Action(type="Reboot"),)),
            FilePolicy(path="/etc/containers/policy.json", actions=(Action(type="None"),)),
            FilePolicy(path="/etc/containers/registries.conf", actions=(restart("crio.service"),)),
        )
    )
)


@pytest.mark.parametrize(
    ("paths", "wanted", "drain"),
    [
        (["/etc/a"], [("Restart", "a.service")], False),
        (["/etc/a/x"], [("Restart", "a.service")], False),
        (["/etc/a/b"], NONE, False),
        (["/etc/a/b/x"], NONE, False),
        (["/etc/a/bx"], [("Restart", "a.service")], False),
        (["/etc/a/b/c"], [("Drain", ""), ("Reload", "c.service")], True),
        (["/etc/a/b/c/d/e"], [("Drain", ""), ("Reload", "c.service")], True),
        (["/etc/ax"], REBOOT, True),
        (["/etc/a/x", "/etc/a/b/x"], [("Restart", "a.service")], False),
        (
            ["/etc/a/b/c", "/etc/a/x"],
            [("Restart", "a.service"), ("Drain", ""), ("Reload", "c.service")],
            True,
        ),
        (["/etc/quiet"], [], False),
        (["/etc/quiet", "/etc/a/b"], NONE, False),
        (["/etc/quiet", "/etc/a"], [("Restart", "a.service")], False),
        (["/etc/boot"], REBOOT, True),
        (["/etc/boot/x", "/etc/a"], REBOOT, True),
        (["/etc/containers/policy.json"], NONE, False),
        (["/etc/containers/registries.conf"], [("Restart", "crio.service")], False),
    ],
)
def test_policies_of_the_user(paths: list[str], wanted: list[tuple[str, str]], drain: bool) -> None:
    files = {"files": [plain(path) for path in paths]}
    both: tuple[Sides, Sides] = (({}, files), (files, {}))
    for sides in both:
        found = decide(sides, USER)
        assert (actions(found), found.drain, found.exit_code) == (wanted, drain, 1)


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
    found = decide(({}, {"files": [plain("/etc/a"), plain("/etc/a/b")]}), USER)
    assert found.reconcilable
    (refusal,) = found.refused
    assert refusal.path == "$.spec.config.storage.files.1.path"
    assert refusal.hint
    assert found.exit_code == 2


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
    units = [unit("a.service", "[Unit]\n"), unit("b.service", "[Unit]\n")]
    assert [u.change for u in decide(({"units": units}, {"units": units[::-1]})).units] == ["moved"]
