"""spec/operator.md 1.3 and 8.2: what the operator says after passes that went well or not."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from mco.api.meta import conditions as cond
from mco.plan.installation import conditions, related
from mco.plan.installation.conditions import Pass, Standing
from mco.plan.installation.outcome import Outcome, complete

V1, V2 = {"operator": "1", "operator-image": "i1"}, {"operator": "2", "operator-image": "i2"}
GOOD, BAD, WAITING = (
    Outcome(step="fn1"),
    Outcome(step="fn1", error="mocked"),
    Outcome(step="fn1", waiting="x"),
)


def passed(
    old: Standing, *outcomes: Outcome, versions: Mapping[str, str] = V1, bring_up: bool = False
) -> Standing:
    begun = conditions.begin(old, versions, bring_up, "2026-01-01T00:00:00Z")
    found = Pass(outcomes=outcomes, versions=versions, bring_up=bring_up)
    return conditions.decide(begun, found, "2026-01-01T00:00:01Z")


def said(standing: Standing, type_: str) -> tuple[str, str, str]:
    found = cond.find(standing.conditions, type_)
    assert found is not None
    return found.status, found.reason, found.message


START = conditions.initial(V1, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("passes", "degraded", "progressing"),
    [
        ([(BAD, False), (GOOD, False)], ["True", "False"], ["False", "False"]),
        ([(GOOD, True), (GOOD, False)], ["False", "False"], ["True", "False"]),
        ([(BAD, True), (BAD, True)], ["True", "True"], ["True", "True"]),
        ([(GOOD, True), (BAD, False), (GOOD, False)], ["False", "True", "False"], ["True", "False", "False"]),
    ],
)
def test_sequences(passes: list[tuple[Outcome, bool]], degraded: list[str], progressing: list[str]) -> None:
    standing, seen = START, []
    for outcome, bring_up in passes:
        standing = passed(standing, outcome, bring_up=bring_up)
        seen.append((said(standing, "Degraded")[0], said(standing, "Progressing")[0]))
        assert said(standing, "Available")[:2] == ("True", "AsExpected")
        assert said(standing, "Upgradeable")[:2] == ("True", "AsExpected")
    assert seen == list(zip(degraded, progressing, strict=True))


def test_a_version_changes() -> None:
    """The pass that completes it still says what was deployed before, and reports the new versions."""
    after = passed(START, GOOD, versions=V2)
    assert said(after, "Progressing") == ("True", "", "Working towards 2")
    assert said(after, "Degraded")[0] == "False"
    assert said(after, "Available")[2] == "Cluster has deployed [{operator 1} {operator-image i1}]"
    assert after.versions == V2
    assert said(passed(after, GOOD, versions=V2), "Progressing") == ("False", "", "Cluster version is 2")


def test_a_version_changes_with_an_error() -> None:
    after = passed(START, BAD, versions=V2)
    assert said(after, "Progressing") == ("True", "", "Unable to apply 2")
    assert said(after, "Degraded") == ("True", "fn1Failed", "Unable to apply 2: mocked")
    assert after.versions == V1


def test_an_error_without_a_change_of_version() -> None:
    after = passed(START, BAD)
    assert said(after, "Progressing") == ("False", "", "Error while reconciling 1")
    assert said(after, "Degraded") == ("True", "fn1Failed", "Failed to resync 1 because: mocked")


def test_passes_that_fail_again_write_nothing_new() -> None:
    failed = passed(START, BAD)
    assert conditions.begin(failed, V1, False, "2026-01-01T00:01:00Z") == failed
    assert passed(failed, BAD) == failed
    begun = conditions.begin(failed, V2, False, "2026-01-01T00:01:00Z")
    assert said(begun, "Progressing") == ("True", "", "Working towards 2")


def test_a_closed_gate_is_no_failure() -> None:
    after = passed(START, WAITING, versions=V2)
    assert said(after, "Degraded")[0] == "False"
    assert after.versions == V1
    assert not complete((WAITING,))


@pytest.mark.parametrize(
    ("now", "degraded"),
    [
        ((WAITING,), "True"),
        ((Outcome(step="fn1"), Outcome(step="fn2", waiting="x")), "False"),
    ],
)
def test_a_failure_is_over_when_its_function_is_done(now: tuple[Outcome, ...], degraded: str) -> None:
    assert said(passed(passed(START, BAD), *now), "Degraded")[0] == degraded


def test_the_first_failure_counts() -> None:
    after = passed(START, GOOD, Outcome(step="a", error="x"), Outcome(step="b", error="y"))
    assert said(after, "Degraded")[1] == "aFailed"


def test_an_object_that_somebody_else_made_has_no_versions() -> None:
    """As the cluster-version operator makes it, before the first pass."""
    after = passed(Standing(), GOOD, bring_up=True)
    assert said(after, "Progressing")[2] == "Working towards 1"
    assert said(passed(after, GOOD, bring_up=True), "Progressing")[2] == "Cluster is bootstrapping 1"


def test_findings_stand_in_the_reason() -> None:
    found = Pass(outcomes=(GOOD,), versions=V1, findings=("runc: b", "failswapon: a"))
    after = conditions.decide(START, found, "2026-01-01T00:00:00Z")
    assert said(after, conditions.EVALUATION)[:2] == ("True", "failswapon: a::runc: b")


def test_a_degradation_is_announced_when_it_says_something_new() -> None:
    first = passed(START, BAD)
    assert conditions.announcements(START, first) == [
        ("Warning", "OperatorDegraded: fn1Failed", "Failed to resync 1 because: mocked")
    ]
    assert conditions.announcements(first, passed(first, BAD)) == []
    assert conditions.announcements(first, passed(first, GOOD)) == []


def test_changes_of_version_are_announced() -> None:
    def texts(old: Standing, new: Standing, **more: bool) -> list[str]:
        options = {"bring_up": False, "first": False} | more
        found = conditions.version_changes(old, new, V2, options["bring_up"], first=options["first"])
        return [text for _, _, text in found]

    done = msgspec.structs.replace(START, versions=V2)
    (begun,) = texts(START, START, first=True)
    assert begun.startswith("clusteroperator/machine-config started a version change from [{operator 1}")
    (ended,) = texts(START, done)
    assert "version changed from [{operator 1} {operator-image i1}] to [{operator 2}" in ended
    assert texts(done, done) == []
    (new,) = texts(done, done, first=True, bring_up=True)
    assert "is bootstrapping to [{operator 2}" in new


ROLES = (
    *("machine-config-controller", "machine-config-controller-events", "machine-config-daemon"),
    *("machine-config-daemon-events", "machine-config-server", "machine-os-builder"),
    *("machine-os-builder-events", "system:openshift:machine-config-operator:cluster-reader"),
)
BINDINGS = (
    *("machine-config-controller", "machine-config-daemon", "machine-config-server", "machine-os-builder"),
    *("machine-os-builder-anyuid", "custom-account-openshift-machine-config-operator"),
    *("system-bootstrap-node-bootstrapper", "system-bootstrap-node-renewal"),
)
INFRASTRUCTURES = ("kni", "openstack", "ovirt", "vsphere", "nutanix", "cloud-platform")
KINDS = (
    *("machineconfigpools", "controllerconfigs", "kubeletconfigs", "containerruntimeconfigs"),
    *("machineconfigs", "machineconfigurations", "nodes"),
)


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        *(("clusterroles", name) for name in ROLES),
        *(("clusterrolebindings", name) for name in BINDINGS),
        *(("namespaces", f"openshift-{name}-infra") for name in INFRASTRUCTURES),
        ("namespaces", "openshift-machine-config-operator"),
        *((resource, "") for resource in KINDS),
    ],
)
def test_what_is_related(resource: str, name: str) -> None:
    """What must-gather collects."""
    assert (resource, name) in {(each["resource"], each["name"]) for each in related.objects()}
