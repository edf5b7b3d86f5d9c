"""One version follows another: at once, and the permissions of the old one go last (spec/operator.md 0.2)."""

from __future__ import annotations

from pathlib import Path

from mco.runtime import version
from tests.kubernetes import record
from tests.kubernetes.cluster import name
from tests.kubernetes.marks import REAL
from tests.kubernetes.release import NEXT, OLD_ACCOUNT, OLD_BINDING
from tests.kubernetes.upgrade import Upgrade, reported, upgrade_with_faults

pytestmark = REAL
SOON = 1.0


def test_b_leads_as_soon_as_it_can(upgraded: Upgrade) -> None:
    """The old operator has released the lease: nobody waits for its end, or proves that of a process."""
    assert upgraded.old["spec"]["serviceAccountName"] == OLD_ACCOUNT
    assert upgraded.leases(name(upgraded.old)), "A did not lead"
    leads = next(said for said in upgraded.said if said["message"] == "leading")
    assert leads["because"] == "it was released"
    assert upgraded.after_ready < SOON


def test_the_two_operators_never_overlap(upgraded: Upgrade) -> None:
    pod = upgraded.record.of(record.PODS, name(upgraded.old))
    gone = next(each for each in pod if each.object["status"]["phase"] == "Succeeded")
    came = upgraded.record.first(record.PODS, name(upgraded.new), "ADDED")
    assert gone.revision < came.revision
    transitions = [each.object["spec"]["leaseTransitions"] for each in upgraded.leases(name(upgraded.new))]
    before = upgraded.leases(name(upgraded.old))[0].object["spec"]["leaseTransitions"]
    assert set(transitions) == {before + 1}


def test_permissions_go_after_the_new_version_is_reported(upgraded: Upgrade) -> None:
    said = upgraded.record.of(record.OPERATORS, "machine-config")
    assert reported(said[0].object) == version.RAW
    first = next(each for each in said if reported(each.object) == NEXT)
    removed = upgraded.record.first(record.BINDINGS, OLD_BINDING, "DELETED")
    assert upgraded.leases(name(upgraded.new))[0].revision < first.revision < removed.revision


def test_nothing_is_degraded_or_rebooted_meanwhile(upgraded: Upgrade) -> None:
    for wanted in ("Degraded", "NodeDegraded", "RenderDegraded"):
        assert not upgraded.record.flips(wanted, "True")
    assert not upgraded.record.flips("Available", "False")
    before, after = upgraded.boots
    assert before == after


def test_with_the_faults_of_the_report_the_new_version_waits(upgraded: Upgrade, tmp_path: Path) -> None:
    """Until the kubelet reports that the old operator has ended, which was not allowed to release the lease:
    the report's had to wait for its end."""
    faulty = upgrade_with_faults(upgraded, tmp_path)
    removed = faulty.record.first(record.BINDINGS, OLD_BINDING, "DELETED")
    assert removed.revision < faulty.leases(name(faulty.new))[0].revision
    assert not faulty.leases("")
    leads = next(said for said in faulty.said if said["message"] == "leading")
    assert "reports the end of its container" in leads["because"]
    assert faulty.after_ready > SOON


def test_every_component_is_of_the_new_version(upgraded: Upgrade) -> None:
    """As its Pods were last seen."""
    last = {name(each.object): each for each in upgraded.record.of(record.PODS)}
    images = {
        container["image"]
        for each in last.values()
        if each.event != "DELETED"
        for container in each.object["spec"]["containers"]
    }
    assert images == {f"localhost/mco:{NEXT}"}
