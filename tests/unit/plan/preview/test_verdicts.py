"""The verdict on pairs of configs, as spec/node.md 6 has it: every built-in policy in every way in which a
file can change, pairs of policies, the system's parts."""

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
from mco.plan.node.policies import merged, reload, restart
from tests.daemon.builders import unit
from tests.unit.plan.node.configs import CORE, plain, users
from tests.unit.plan.preview.sides import NONE, Sides, actions, decide

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
