"""The actions of an update, in order (spec/daemon.md 6.2, 6.8 to 6.13)."""

from __future__ import annotations

from typing import Any

import pytest

from mco.plan.node.diff import compare
from mco.plan.node.target import EMPTY, Target
from mco.plan.node.update import actions
from tests.daemon.builders import unit
from tests.unit.plan.node.configs import CORE, make, plain, users

LEAKED = [
    "remove /etc/systemd/system/network-online.target.requires/node-valid-hostname.service",
    "remove /etc/systemd/system/network-online.target.wants/ovs-configuration.service",
]
RECORD = "record rendered-worker-new as the config on disk"


def described(old: Target, new: Target, *, forced: bool = False) -> list[str]:
    found = [action.describe() for action in actions(old, new, compare(old, new, forced=forced))]
    return [text for text in found if text not in LEAKED and text != RECORD]


def test_the_record_is_last_and_leaked_links_go() -> None:
    found = [action.describe() for action in actions(EMPTY, make(), compare(EMPTY, make()))]
    assert found == [*LEAKED, RECORD]


def test_every_part_in_order() -> None:
    old = make(files={"/etc/gone": "x"}, units=[unit("gone.service", "[Unit]\n")])
    new = make(
        files=[plain("/etc/new") | {"mode": 384, "user": {"name": "core"}, "group": {"id": 7}}],
        units=[
            unit("a.service", "[Unit]\n", enabled=True, dropins={"10.conf": "x", "20.conf": ""}),
            unit("b.service", enabled=False),
            unit("c.service", mask=True),
            unit("d.service", "[Unit]\n"),
        ],
        arguments=["x=1"],
        ignition=users(CORE),
    )
    assert described(old, new) == [
        "write /etc/new (0600, core:7)",
        "write drop-in 10.conf of unit a.service",
        "remove drop-in 20.conf of unit a.service",
        "write unit a.service",
        "mask unit c.service",
        "write unit d.service",
        "enable a.service",
        "disable b.service",
        "reset unit d.service to its preset",
        "remove /etc/gone",
        "remove unit gone.service",
        "set 1 SSH key of core",
        "lock the password of core",
        "set kernel arguments x=1",
    ]


def test_unchanged_files_are_listed_and_unchanged_units_are_not() -> None:
    side = make(files={"/etc/a": "x"}, units=[unit("a.service", "[Unit]\n", enabled=True)])
    assert described(side, side) == ["write /etc/a (0644, 0:0)"]
    assert "write unit a.service" in described(side, side, forced=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [({"/etc/x": ""}, {"/etc/x/y": ""}), ({"/etc/x/y": ""}, {"/etc/x": ""})],
)
def test_what_is_in_the_way_goes_first(old: dict[str, str], new: dict[str, str]) -> None:
    first, second = described(make(files=old), make(files=new))
    assert first.startswith("remove")
    assert second.startswith("write")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/kubernetes/kubelet-ca.crt",
        "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
        "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem",
        "/etc/docker/certs.d/registry/ca.crt",
    ],
)
def test_some_paths_are_never_removed(path: str) -> None:
    assert described(make(files={path: "x"}), make()) == []


def test_the_kubelets_ca_is_not_written() -> None:
    assert described(make(), make(files={"/etc/kubernetes/kubelet-ca.crt": "x"})) == []


def test_a_file_that_becomes_a_drop_in_is_not_removed() -> None:
    path = "/etc/systemd/system/kubelet.service.d/10-foo.conf"
    new = make(units=[unit("kubelet.service", dropins={"10-foo.conf": "x"})])
    assert described(make(files={path: "x"}), new) == [
        "write drop-in 10-foo.conf of unit kubelet.service",
        "reset unit kubelet.service to its preset",
    ]


def test_contents_that_a_unit_loses_go() -> None:
    old = make(units=[unit("a.service", "[Unit]\n", enabled=True)])
    assert described(old, make(units=[unit("a.service", enabled=True)])) == [
        "remove unit a.service",
        "enable a.service",
    ]


def test_a_user_that_goes_is_locked_never_left_without_a_password() -> None:
    old = make(ignition=users(CORE | {"passwordHash": "$6$x"}))
    assert described(old, make()) == ["set 0 SSH keys of core", "lock the password of core"]


def test_nothing_secret_is_described() -> None:
    secret = "s3cr3t"
    new = make(
        files={"/etc/a": secret},
        units=[unit("a.service", f"[Unit]\n#{secret}", dropins={"1.conf": secret})],
        ignition=users({"name": "core", "passwordHash": secret, "sshAuthorizedKeys": [secret]}),
    )
    assert secret not in " ".join(described(make(), new))


def test_removed_kernel_arguments_are_named() -> None:
    assert described(make(arguments=["a b"]), make()) == ["remove kernel arguments a b"]


def test_known_paths_are_those_of_the_old_config() -> None:
    old = make(files={"/etc/a": ""})
    new = make(files={"/etc/a": "x", "/etc/b": "x"})
    known: dict[str, Any] = {
        getattr(action, "path", ""): getattr(action, "known", None)
        for action in actions(old, new, compare(old, new))
    }
    assert (known["/etc/a"], known["/etc/b"]) == (True, False)
