from __future__ import annotations

import os
from pathlib import Path

import pytest

from mco.lab import base, checks


def test_what_is_missing_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    failed = {check.name: check for check in checks.missing()}
    assert failed["systemd-nspawn"].found == "systemd-nspawn not found"
    assert failed["systemd-nspawn"].remedy == "apt-get install systemd-container"
    assert failed["mmdebstrap"].remedy == "apt-get install mmdebstrap"
    assert failed["namespaces"].found == "unshare, nsenter, setpriv not found"


def test_a_base_root_that_is_there_needs_no_mmdebstrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache/mco/lab" / f"base-{base.Recipe().key}").mkdir(parents=True)
    assert "mmdebstrap" not in {check.name for check in checks.missing()}


def test_somebody_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    first = checks.missing()[0]
    assert (first.name, first.found) == ("root", "the user id is 1000")
