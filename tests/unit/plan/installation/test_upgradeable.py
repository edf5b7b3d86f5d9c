"""spec/operator.md 8.6: boot images, and pools, that forbid an upgrade."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api.machineconfiguration import MachineConfiguration
from mco.plan.installation.upgradeable import blocked, os_version, skew
from tests.factories import pool

HISTORY = ("4.22.1", "4.10.0")


def configured(
    mode: str | None, *, progressing: str | None = "False", degraded: str = "", **versions: str
) -> Any:
    names = {"ocp": "ocpVersion", "rhcos": "rhcosVersion"}
    said: dict[str, Any] = {names[key]: value for key, value in versions.items()}
    status: dict[str, Any] = {}
    if mode is not None:
        status["bootImageSkewEnforcementStatus"] = {"mode": mode, mode.lower(): said}
    conditions = [] if progressing is None else [("BootImageUpdateProgressing", progressing, "")]
    conditions += [("BootImageUpdateDegraded", "True", degraded)] if degraded else []
    status["conditions"] = [{"type": t, "status": s, "message": m} for t, s, m in conditions]
    return msgspec.convert({"metadata": {"name": "cluster"}, "status": status}, MachineConfiguration)


@pytest.mark.parametrize(
    "found",
    [
        None,
        configured(None),
        configured("None"),
        configured("Automatic", progressing="True", ocp="4.12.0"),
        configured("Automatic", progressing=None, ocp="4.12.0"),
        configured("Automatic", ocp="4.17.0"),
        configured("Manual", ocp="4.16.0"),
        configured("Manual", ocp="4.13.0"),
        configured("Manual", rhcos="9.4.20251023-0"),
        configured("Manual", rhcos="9.6.20251023-0"),
        configured("Manual", rhcos="416.94.202510081640-0"),
        configured("Manual", rhcos="413.92.202402131523-0"),
        configured("Manual", ocp="4.17.0", rhcos="9.0.20251023-0"),
        configured("Manual", rhcos="nonsense"),
        configured("Manual"),
    ],
)
def test_not_blocked(found: MachineConfiguration | None) -> None:
    assert skew(found, HISTORY, enforced=True) == ""


@pytest.mark.parametrize(
    "found",
    [
        configured("Automatic", ocp="4.12.0"),
        configured("Manual", ocp="4.10.0"),
        configured("Manual", rhcos="9.0.20251023-0"),
        configured("Manual", rhcos="9.1.20251023-0"),
        configured("Manual", rhcos="411.86.202308081056-0"),
    ],
)
def test_too_old(found: MachineConfiguration) -> None:
    """The link is to the documentation of the newest release that the cluster has had."""
    assert "openshift_container_platform/4.22/" in skew(found, HISTORY, enforced=True)
    assert "openshift_container_platform/latest/" in skew(found, (), enforced=True)
    assert skew(found, HISTORY, enforced=False) == ""


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        (
            {"ocp": "4.12.0"},
            "OCP boot image version 4.12.0, which is below the minimum required version 4.13.0",
        ),
        (
            {"rhcos": "411.86.202308081056-0"},
            "RHCOS boot image version 411.86.202308081056-0(RHEL version: 8.6), which is below the minimum "
            "required RHEL version 9.2",
        ),
    ],
)
def test_what_is_too_old(versions: dict[str, str], text: str) -> None:
    said = skew(configured("Manual", **versions), HISTORY, enforced=True)
    assert said.startswith(f"Upgrades have been disabled because the cluster is using {text}. ")


def test_a_broken_controller_blocks_whatever_the_version() -> None:
    found = configured("Automatic", progressing="True", degraded="no API", ocp="4.17.0")
    assert skew(found, HISTORY, enforced=True) == (
        "Upgrades have been disabled due to boot image update failures: "
        "boot image controller is degraded: no API"
    )


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("9.6.20251023-0", (9, 6)),
        ("412.810.202308081056-0", (8, 10)),
        ("413.92.202402131523-0", (9, 2)),
        ("9.6", None),
        ("9.6.2025-0", None),
        ("x.y.20251023-0", None),
    ],
)
def test_versions_of_the_operating_system(text: str, version: tuple[int, int] | None) -> None:
    assert os_version(text) == version


def broken(name: str, type_: str, reason: str = "") -> Any:
    made = pool(name)
    body = {"conditions": [{"type": type_, "status": "True", "reason": reason}]}
    return msgspec.structs.replace(made, status=msgspec.convert(body, type(made.status)))


@pytest.mark.parametrize(
    ("pools", "reason"),
    [
        ([pool()], None),
        ([broken("worker", "Degraded")], "DegradedPool"),
        ([broken("worker", "ImageBuildDegraded", "BuildInterrupted")], "InterruptedBuild"),
        ([broken("worker", "ImageBuildDegraded", "BuildFailed")], None),
        (
            [broken("b", "Degraded"), broken("a", "ImageBuildDegraded", "BuildInterrupted")],
            "InterruptedBuild",
        ),
    ],
)
def test_pools(pools: list[Any], reason: str | None) -> None:
    found = blocked(pools)
    assert (found.reason if found else None) == reason
    if found:
        assert found.status == "False"
        assert "oc get mcp" in found.message
    else:
        only = blocked(pools, "too old")
        assert only is not None
        assert (only.reason, only.message) == ("ClusterBootImageSkewError", "too old")
