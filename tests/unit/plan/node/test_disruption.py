"""What a change does to a running node (spec/node.md 6, 12.11; spec/daemon.md 6.5, 6.6, 15.1)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest

from mco.api.machineconfiguration import (
    Action,
    DisruptionPolicies,
    FilePolicy,
    SSHKeyPolicy,
    UnitPolicy,
)
from mco.plan.node import disruption, policies
from mco.plan.node.diff import compare
from mco.plan.node.disruption import Disruption, PostAction
from mco.plan.node.policies import DEFAULT, merged, reload, restart
from mco.plan.node.target import Target
from tests.daemon.builders import unit
from tests.unit.plan.node.configs import CORE, make, users

REBOOT = (PostAction("Reboot"),)
NONE = (PostAction("None"),)
GPG = "/etc/machine-config-daemon/no-reboot/containers-gpg.pub"
REGISTRIES = "/etc/containers/registries.conf"


def decide(old: Target, new: Target, known: DisruptionPolicies = DEFAULT) -> Disruption:
    return disruption.in_cluster(old, new, compare(old, new), known)


def added(*paths: str) -> Target:
    return make(files=dict.fromkeys(paths, "x"))


class TestMatching:
    POLICIES = DisruptionPolicies(
        files=tuple(
            FilePolicy(path=path, actions=(reload(f"{number}.service"),))
            for number, path in enumerate(
                ("/etc/mco/f1", "/etc/mco/f1/f2", "/etc/mco/f1/f2/f3", "/etc/mco/t")
            )
        )
    )

    @pytest.mark.parametrize(
        ("path", "matched"),
        [
            ("/etc/mco/test", None),
            ("/etc/mco/t", "/etc/mco/t"),
            ("/etc/mco/f1/f2/example", "/etc/mco/f1/f2"),
            ("/etc/mco/f1/f2/f3", "/etc/mco/f1/f2/f3"),
            ("/etc/mco/f1/other", "/etc/mco/f1"),
            ("/etc/mco/f10", None),
            ("/etc/mco", None),
        ],
    )
    def test_the_longest_path_wins(self, path: str, matched: str | None) -> None:
        found = policies.for_file(self.POLICIES, path)
        assert (found.path if found else None) == matched

    def test_siblings_and_children_do_not_match(self) -> None:
        known = DisruptionPolicies(
            files=tuple(
                FilePolicy(path=p) for p in ("/etc/mco/f1/t", "/etc/mco/f1/f2/t", "/etc/mco/f1/f2/f3/f4")
            )
        )
        assert policies.for_file(known, "/etc/mco/f1/f2/f3") is None

    @pytest.mark.parametrize(
        ("policy", "path", "matches"),
        [
            ("/etc/a", "/etc/a", True),
            ("/etc/a/", "/etc/a", False),
            ("/etc/a/", "/etc/a/b", True),
            ("//etc/a", "/etc/a/b", True),
            ("//etc/a", "/etc/a", False),
            ("/etc//a/./c/..", "/etc/a/b", True),
            ("/etc/ä", "/etc/ä/b", True),
            ("/", "/etc/a", False),
            ("", "/etc/a", False),
            (".", "/etc/a", False),
            ("etc", "/etc/a", False),
        ],
    )
    def test_a_file_is_named_exactly_and_a_folder_in_any_spelling(
        self, policy: str, path: str, matches: bool
    ) -> None:
        known = DisruptionPolicies(files=(FilePolicy(path=policy),))
        assert (policies.for_file(known, path) is not None) is matches

    def test_the_length_is_that_of_the_path_as_it_is_written(self) -> None:
        spelt, clean = FilePolicy(path="/etc/./././a"), FilePolicy(path="/etc/a/b")
        assert policies.for_file(DisruptionPolicies(files=(clean, spelt)), "/etc/a/b/c") is spelt

    def test_the_first_of_equal_paths_wins_and_the_root_never_matches(self) -> None:
        first, second = (FilePolicy(path="/etc/a", actions=(reload(s),)) for s in ("1.service", "2.service"))
        known = DisruptionPolicies(files=(FilePolicy(path="/"), first, second))
        assert policies.for_file(known, "/etc/a") is first
        assert policies.for_file(known, "/etc/b") is None


@pytest.mark.parametrize(
    ("paths", "actions", "drain"),
    [
        (["/etc/other"], REBOOT, True),
        (["/var/lib/kubelet/config.json"], NONE, False),
        ([GPG], (PostAction("Reload", "crio.service"),), False),
        (["/etc/containers/registries.d/a.yaml"], (PostAction("Reload", "crio.service"),), False),
        ([GPG, "/etc/containers/policy.json"], (PostAction("Reload", "crio.service"),), False),
        ([GPG, "/var/lib/kubelet/config.json"], (PostAction("Reload", "crio.service"),), False),
        ([GPG, "/etc/other"], REBOOT, True),
        (
            ["/etc/kubernetes/credential-providers/p.yaml", GPG],
            (PostAction("Reload", "crio.service"), PostAction("Restart", "kubelet.service")),
            False,
        ),
        (
            ["/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"],
            (PostAction("Restart", "coreos-update-ca-trust.service"), PostAction("Restart", "crio.service")),
            False,
        ),
    ],
)
def test_built_in_policies_of_files(paths: list[str], actions: tuple[PostAction, ...], drain: bool) -> None:
    for old, new in ((make(), added(*paths)), (added(*paths), make())):
        found = decide(old, new)
        assert (found.actions, found.drain) == (actions, drain)


@pytest.mark.parametrize(
    "change",
    [
        {"osImageURL": "x"},
        {"arguments": ["a"]},
        {"kernelType": "realtime"},
        {"extensions": ["usbguard"]},
    ],
)
def test_changes_of_the_system_reboot(change: dict[str, Any]) -> None:
    found = decide(make(), make(**change))
    assert (found.actions, found.drain, found.reboot) == (REBOOT, True, True)
    assert len(found.because) == 1


def test_units_follow_their_own_policies() -> None:
    known = merged(DisruptionPolicies(units=(UnitPolicy(name="a.service", actions=(restart("a.service"),)),)))
    old, new = make(), make(units=[unit("a.service", "[Unit]\n")])
    assert decide(old, new, known).actions == (PostAction("Restart", "a.service"),)
    assert decide(old, make(units=[unit("b.service", "[Unit]\n")]), known).actions == REBOOT


def test_keys_do_nothing_by_default_and_come_last() -> None:
    old, new = make(), make(files={GPG: "x"}, ignition=users(CORE))
    assert decide(make(), make(ignition=users(CORE))).actions == NONE
    known = merged(DisruptionPolicies(sshkey=SSHKeyPolicy(actions=(restart("sshd.service"),))))
    wanted = (PostAction("Reload", "crio.service"), PostAction("Restart", "sshd.service"))
    assert decide(old, new, known).actions == wanted


def test_a_drain_action_drains_and_stays_in_the_list() -> None:
    known = DisruptionPolicies(
        files=(FilePolicy(path="/etc/a", actions=(Action(type="Drain"), restart("a.service"))),)
    )
    found = decide(make(), added("/etc/a"), known)
    assert (found.drain, found.reboot) == (True, False)
    assert found.actions == (PostAction("Drain"), PostAction("Restart", "a.service"))


def test_an_empty_action_list_does_nothing_at_all() -> None:
    known = DisruptionPolicies(files=(FilePolicy(path="/etc/a"),))
    found = decide(make(), added("/etc/a"), known)
    assert (found.actions, found.because, found.why) == ((), (), "no policy asks for anything")


CREDENTIALS = "/etc/kubernetes/credential-providers/a.yaml"
CREDENTIALS_UNIT = "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf"
RELOAD_UNITS, KUBELET = PostAction("DaemonReload"), PostAction("Restart", "kubelet.service")
TRUST, CRIO = PostAction("Restart", "coreos-update-ca-trust.service"), PostAction("Restart", "crio.service")
REGISTRY_CA = "/etc/pki/ca-trust/source/anchors/iri-root-ca.crt"


class TestOrder:
    """Each action once, in the order of the policies and of the list in each (spec/node.md 6.4)."""

    @pytest.mark.parametrize(
        ("paths", "actions"),
        [
            ((CREDENTIALS, CREDENTIALS_UNIT), (RELOAD_UNITS, KUBELET)),
            ((policies.USER_CA_ANCHOR, REGISTRY_CA), (TRUST, CRIO)),
            (
                (REGISTRY_CA, policies.USER_CA_ANCHOR, CREDENTIALS_UNIT, CREDENTIALS),
                (TRUST, CRIO, RELOAD_UNITS, KUBELET),
            ),
        ],
    )
    def test_a_service_is_restarted_once_and_after_what_has_to_come_first(
        self, paths: tuple[str, ...], actions: tuple[PostAction, ...]
    ) -> None:
        for order in permutations(paths):
            assert decide(make(), added(*order)).actions == actions

    def test_a_unit_and_a_file_of_it(self) -> None:
        new = make(files={"/etc/iri-registry/a": "x"}, units=[unit("iri-registry.service", "[Unit]\n")])
        wanted = (RELOAD_UNITS, PostAction("Restart", "iri-registry.service"))
        assert decide(make(), new).actions == wanted

    def test_lists_that_contradict_each_other_end_as_the_first_says(self) -> None:
        known = DisruptionPolicies(
            files=(
                FilePolicy(path="/etc/1", actions=(restart("a.service"), restart("b.service"))),
                FilePolicy(path="/etc/2", actions=(restart("b.service"), restart("a.service"))),
            )
        )
        wanted = (PostAction("Restart", "a.service"), PostAction("Restart", "b.service"))
        assert decide(make(), added("/etc/2", "/etc/1"), known).actions == wanted

    def test_an_action_that_one_list_repeats_is_done_once(self) -> None:
        known = DisruptionPolicies(files=(FilePolicy(path="/etc/1", actions=(restart("a.service"),) * 3),))
        assert decide(make(), added("/etc/1"), known).actions == (PostAction("Restart", "a.service"),)


class TestReasons:
    """One line for each action: what changed, and which policy that is for."""

    def test_names_path_and_policy(self) -> None:
        found = decide(make(), added(CREDENTIALS))
        policy = "matched the built-in policy for /etc/kubernetes/credential-providers"
        assert found.because == (f"Restart kubelet.service: file {CREDENTIALS} {policy}",)
        assert found.drain_because == "no action asks for it"

    def test_a_users_policy(self) -> None:
        known = merged(
            DisruptionPolicies(files=(FilePolicy(path="/etc/a", actions=(restart("a.service"),)),))
        )
        because = decide(make(), added("/etc/a/2", "/etc/a/1"), known).because
        assert because == ("Restart a.service: files /etc/a/1, /etc/a/2 matched the policy for /etc/a",)

    def test_all_that_has_no_policy(self) -> None:
        new = make(
            files=dict.fromkeys(["/1", "/2", "/3", "/4", "/5"], "x"), units=[unit("a.service", "[Unit]\n")]
        )
        why = "Reboot: no policy for files /1, /2, /3 and 2 more and unit a.service"
        assert decide(make(), new).because == (why,)

    def test_a_policy_that_asks_for_a_reboot(self) -> None:
        known = DisruptionPolicies(files=(FilePolicy(path="/etc/a", actions=(Action(type="Reboot"),)),))
        found = decide(make(), added("/etc/a"), known)
        assert found.because == ("Reboot: file /etc/a matched the policy for /etc/a",)
        assert found.drain_because == "the node reboots"

    def test_changes_of_the_system(self) -> None:
        found = decide(make(), make(osImageURL="x", arguments=["a"]))
        assert found.because == ("Reboot: the OS image and the kernel arguments changed",)


def test_a_reordering_does_nothing_at_all() -> None:
    old, new = make(files={"/etc/a": "x", "/etc/b": "x"}), make(files={"/etc/b": "x", "/etc/a": "x"})
    assert decide(old, new).actions == ()


def test_equal_configs_do_nothing() -> None:
    assert decide(make(), make()).actions == NONE


def test_the_force_file_reboots() -> None:
    changes = compare(make(), make(), forced=True)
    assert disruption.in_cluster(make(), make(), changes, DEFAULT).actions == REBOOT


class TestFirstBoot:
    @pytest.mark.parametrize(
        ("files", "more", "actions"),
        [
            ({"/etc/other": "x"}, {}, REBOOT),
            ({"/var/lib/kubelet/config.json": "x"}, {}, NONE),
            ({"/etc/kubernetes/kubelet-ca.crt": "x"}, {}, NONE),
            ({}, {"ignition": users(CORE)}, NONE),
            ({"/etc/nmstate/openshift/a.yml": "x"}, {}, NONE),
            ({"/etc/nmstate/openshift/deep/a.yml": "x"}, {}, REBOOT),
            ({REGISTRIES: ""}, {}, (PostAction("Reload", "crio"),)),
            ({GPG: "x"}, {}, (PostAction("Reload", "crio"),)),
            ({"/etc/containers/registries.d/a": "x"}, {}, (PostAction("Reload", "crio"),)),
            ({REGISTRIES: "", "/var/lib/kubelet/config.json": "x"}, {}, (PostAction("Reload", "crio"),)),
            ({REGISTRIES: ""}, {"osImageURL": "x", "ignition": users(CORE)}, REBOOT),
            ({policies.USER_CA_ANCHOR: "x"}, {}, (PostAction("Restart", "crio"),)),
            ({policies.USER_CA_ANCHOR: "x", GPG: "x"}, {}, (PostAction("Restart", "crio"),)),
            ({}, {"units": [unit("a.service", "[Unit]\n")]}, REBOOT),
            ({}, {"arguments": ["a"]}, REBOOT),
        ],
    )
    def test_actions(
        self, files: Mapping[str, str], more: dict[str, Any], actions: tuple[PostAction, ...]
    ) -> None:
        old, new = make(), make(files=files, **more)
        assert disruption.at_first_boot(old, new, compare(old, new)).actions == actions
