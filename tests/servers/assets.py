"""Where the programs of a real cluster's control plane are: `make servers` puts them there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest

from mco.lab.kubernetes.programs import ASSETS, Programs, servers_folder

ROOT = Path(__file__).parents[2]
REQUIRED = "MCO_REQUIRE_SERVERS"
"""Set where a missing server is a failure and no reason to skip."""
VERSION = "MCO_SERVERS_VERSION"


class Assets(msgspec.Struct, frozen=True):
    """The programs, kube-apiserver and etcd at least."""

    programs: Programs

    @property
    def has_controllers(self) -> bool:
        """A foreign KUBEBUILDER_ASSETS has no kube-controller-manager."""
        return "kube-controller-manager" not in self.programs.lacking()


def find() -> Assets:
    """Skips the test, or fails it, with one line that says what to install."""
    if (found := located()) is not None:
        return found
    lacking = "no real kube-apiserver: install Go 1.26 and run `make servers`, or set KUBEBUILDER_ASSETS"
    if os.environ.get(ASSETS):
        lacking = f"KUBEBUILDER_ASSETS has no kube-apiserver or no etcd: {_folder()}"
    return absent(lacking)


def located() -> Assets | None:
    programs = Programs(_folder())
    if {"kube-apiserver", "etcd"} & set(programs.lacking()):
        return None
    return Assets(programs)


def absent(reason: str) -> Assets:
    if os.environ.get(REQUIRED):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def version() -> str:
    """Of Kubernetes, as `1.36.3`: the one asked for, else the one that tools/kube pins."""
    asked = os.environ.get(VERSION, "")
    if asked:
        return asked.removeprefix("v")
    pinned = re.search(r"^require k8s\.io/kubernetes v(\S+)", (ROOT / "tools/kube/go.mod").read_text(), re.M)
    assert pinned is not None
    return pinned[1]


def _folder() -> Path:
    given = os.environ.get(ASSETS)
    return Path(given) if given else servers_folder() / version()
