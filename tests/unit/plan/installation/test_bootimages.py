"""spec/operator.md 8.5: whose boot images are managed, and how old they may be."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
import pytest

from mco.api.gates import BOOT_IMAGE_SKEW, CPMS_BOOT_IMAGES
from mco.api.machineconfiguration import MachineConfiguration
from mco.plan.installation.bootimages import (
    BootImages,
    Place,
    asks_about_provisioning,
    decide,
    failure,
    install_version,
)

SETS, PLANES = "machinesets", "controlplanemachinesets"
INSTALLED = "4.17.0"
AUTOMATIC = {"mode": "Automatic", "automatic": {"ocpVersion": INSTALLED}}
BY_HAND = {"mode": "Manual", "manual": {"mode": "OCPVersion", "ocpVersion": INSTALLED}}
NOTHING = {"mode": "None"}
SUPPORTED = ("AWS", "GCP", "Azure", "VSphere")
WITH_PLANES = ("AWS", "GCP", "Azure")
PARTIAL = {
    "mode": "Partial",
    "partial": {"machineResourceSelector": {"matchLabels": {"update-boot-image": "true"}}},
}


def manager(resource: str, mode: str | dict[str, Any]) -> dict[str, Any]:
    selection = {"mode": mode} if isinstance(mode, str) else mode
    return {"resource": resource, "apiGroup": "machine.openshift.io", "selection": selection}


def settings(
    managers: list[dict[str, Any]] | None = None,
    skew: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
) -> MachineConfiguration:
    spec: dict[str, Any] = {} if managers is None else {"managedBootImages": {"machineManagers": managers}}
    spec |= {"bootImageSkewEnforcement": skew} if skew else {}
    body = {"metadata": {"name": "cluster"}, "spec": spec, "status": status or {}}
    return msgspec.convert(body, MachineConfiguration)


def place(
    platform: str,
    gates: Collection[str] = (BOOT_IMAGE_SKEW,),
    *,
    topology: str = "HighlyAvailable",
    legacy: bool = False,
    **status: Any,
) -> Place:
    said = {"controlPlaneTopology": topology, "platformStatus": {"type": platform} | status}
    return Place(infrastructure={"status": said}, gates=gates, installed=INSTALLED, legacy=legacy)


def managed(made: BootImages) -> dict[str, Any] | None:
    """How each resource's machines are selected; None when nothing is said at all."""
    managers = msgspec.to_builtins(made.managed).get("machineManagers")
    return None if managers is None else {each["resource"]: each["selection"] for each in managers}


def skew(made: BootImages) -> Any:
    return msgspec.to_builtins(made.skew)


@pytest.mark.parametrize("platform", SUPPORTED)
def test_all_machine_sets_where_nobody_says_otherwise(platform: str) -> None:
    made = decide(settings(), place(platform))
    assert managed(made) == {SETS: {"mode": "All"}}
    assert (made.opted_in, skew(made)) == (True, AUTOMATIC)


@pytest.mark.parametrize(("mode", "enforced"), [("All", AUTOMATIC), ("None", BY_HAND), (PARTIAL, BY_HAND)])
@pytest.mark.parametrize("platform", SUPPORTED)
def test_an_opinion_holds(platform: str, mode: Any, enforced: Any) -> None:
    made = decide(settings([manager(SETS, mode)]), place(platform))
    assert managed(made) == {SETS: {"mode": mode} if isinstance(mode, str) else mode}
    assert (made.opted_in, skew(made)) == (False, enforced)


@pytest.mark.parametrize("platform", SUPPORTED)
def test_an_empty_list_is_an_opinion(platform: str) -> None:
    made = decide(settings([]), place(platform, (BOOT_IMAGE_SKEW, CPMS_BOOT_IMAGES)))
    assert managed(made) == {}
    assert (made.opted_in, skew(made)) == (False, BY_HAND)


@pytest.mark.parametrize(
    ("where", "enforced"),
    [
        (place("BareMetal"), NOTHING),
        (place("None"), BY_HAND),
        (place("OpenStack"), BY_HAND),
        (place("Azure", azure={"cloudName": "AzureStackCloud"}), BY_HAND),
    ],
)
def test_platforms_where_none_are_managed(where: Place, enforced: Any) -> None:
    gates = (BOOT_IMAGE_SKEW, CPMS_BOOT_IMAGES)
    made = decide(settings(), msgspec.structs.replace(where, gates=gates))
    assert managed(made) is None
    assert (made.opted_in, skew(made)) == (False, enforced)


@pytest.mark.parametrize(
    ("platform", "selections"),
    [
        *((platform, {SETS: {"mode": "All"}, PLANES: {"mode": "None"}}) for platform in WITH_PLANES),
        ("VSphere", {SETS: {"mode": "All"}}),
        ("BareMetal", None),
    ],
)
def test_control_planes_are_not_managed_by_themselves(platform: str, selections: Any) -> None:
    assert managed(decide(settings(), place(platform, (CPMS_BOOT_IMAGES,)))) == selections


@pytest.mark.parametrize(
    ("said", "selections"),
    [
        ({PLANES: "All"}, {SETS: "All", PLANES: "All"}),
        ({SETS: "All"}, {SETS: "All", PLANES: "None"}),
        ({SETS: "None"}, {SETS: "None", PLANES: "None"}),
        ({SETS: "All", PLANES: "All"}, {SETS: "All", PLANES: "All"}),
        ({SETS: "None", PLANES: "All"}, {SETS: "None", PLANES: "All"}),
        ({SETS: PARTIAL, PLANES: "All"}, {SETS: PARTIAL, PLANES: "All"}),
    ],
)
@pytest.mark.parametrize("platform", WITH_PLANES)
def test_opinions_about_control_planes(platform: str, said: Any, selections: Any) -> None:
    managers = [manager(resource, mode) for resource, mode in said.items()]
    made = decide(settings(managers), place(platform, (CPMS_BOOT_IMAGES,)))
    wanted = {key: {"mode": mode} if isinstance(mode, str) else mode for key, mode in selections.items()}
    assert managed(made) == wanted
    assert made.opted_in == (SETS not in said)


@pytest.mark.parametrize(
    ("before", "opted_in"),
    [
        ({}, True),
        ({"machineManagers": []}, True),
        ({"machineManagers": [manager(SETS, "None")]}, True),
        ({"machineManagers": [manager(SETS, "All")]}, False),
        ({"machineManagers": [manager(SETS, PARTIAL)]}, False),
    ],
)
def test_only_the_first_time_is_noted(before: dict[str, Any], opted_in: bool) -> None:
    known = settings(status={"managedBootImagesStatus": before})
    assert decide(known, place("AWS")).opted_in == opted_in


@pytest.mark.parametrize(
    "wanted", [NOTHING, BY_HAND | {"manual": {"mode": "OCPVersion", "ocpVersion": "4.16.0"}}]
)
@pytest.mark.parametrize("platform", ["AWS", "BareMetal"])
def test_what_is_enforced_by_wish(platform: str, wanted: dict[str, Any]) -> None:
    assert skew(decide(settings(skew=wanted), place(platform))) == wanted


@pytest.mark.parametrize(
    ("known", "where", "enforced"),
    [
        (None, place("BareMetal", legacy=True), BY_HAND),
        (None, place("AWS", topology="SingleReplica"), NOTHING),
        (None, place("BareMetal", topology="SingleReplica", legacy=True), NOTHING),
        (BY_HAND, place("AWS", topology="SingleReplica"), NOTHING),
        (BY_HAND, place("AWS"), AUTOMATIC),
        ({"mode": "Automatic", "automatic": {"ocpVersion": "4.21.3"}}, place("AWS"), None),
        ({"mode": "Automatic", "automatic": {"rhcosVersion": "9.6.20251023-0"}}, place("AWS"), None),
        (BY_HAND, place("AWS", ()), None),
        (None, place("AWS", ()), None),
    ],
)
def test_what_is_enforced(known: dict[str, Any] | None, where: Place, enforced: Any) -> None:
    """None: what was known stays."""
    status = {"bootImageSkewEnforcementStatus": known} if known else {}
    assert skew(decide(settings(status=status), where)) == (enforced or known)


def test_one_control_plane_by_wish() -> None:
    where = place("AWS", topology="SingleReplica")
    assert skew(decide(settings(skew=BY_HAND), where)) == BY_HAND


@pytest.mark.parametrize(
    ("where", "wish", "asks"),
    [
        (place("BareMetal"), None, True),
        (place("BareMetal"), NOTHING, False),
        (place("BareMetal", ()), None, False),
        (place("AWS"), None, False),
    ],
)
def test_provisioning_is_read_only_where_it_matters(where: Place, wish: Any, asks: bool) -> None:
    assert asks_about_provisioning(settings(skew=wish), where) == asks


@pytest.mark.parametrize(
    ("history", "version"),
    [
        ([("4.19.0", "Completed"), ("4.18.0", "Completed"), ("4.17.0", "Completed")], "4.17.0"),
        ([("4.18.0-0.ci-2025-01-01-000000", "Completed")], "4.18.0"),
        ([("4.19.0", "Completed"), ("4.18.1", "Completed"), ("4.17.9", "Partial")], "4.18.1"),
        ([("4.19.0", "Partial"), ("4.18.0", "Partial")], "4.18.0"),
        ([("nonsense", "Completed")], "0.0.0"),
        ([], "0.0.0"),
    ],
)
def test_the_version_that_was_installed(history: list[tuple[str, str]], version: str) -> None:
    assert install_version([{"version": v, "state": state} for v, state in history]) == version


@pytest.mark.parametrize(
    ("status", "text"),
    [("True", "bootimage update failed: 1 Degraded MAPI MachineSets"), ("False", ""), (None, "")],
)
def test_a_failed_update(status: str | None, text: str) -> None:
    said = {
        "type": "BootImageUpdateDegraded",
        "status": status,
        "message": "1 Degraded MAPI MachineSets",
    }
    assert failure(settings(status={"conditions": [said] if status else []})) == text
