"""spec/operator.md 1.9, 1.10: what an installation consists of."""

from __future__ import annotations

import msgspec
import pytest

from mco.api import names
from mco.api.machineconfignode import MachineConfigNode
from mco.operator import ensure, objects, reports
from tests.factories import node, pool


def test_built_in_pools() -> None:
    master, worker = objects.pools()
    assert set(master["metadata"]["labels"]) == {
        names.BUILT_IN_LABEL,
        names.REQUIRED_FOR_UPGRADE_LABEL,
        f"{names.POOL_LABEL_PREFIX}master",
    }
    assert names.REQUIRED_FOR_UPGRADE_LABEL not in worker["metadata"]["labels"]
    assert worker["spec"] == {
        "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": "worker"}},
        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}},
    }


def test_an_existing_object_gains_only_the_metadata_it_lacks() -> None:
    found = pool()
    wanted = {"name": "worker", "labels": {"a": "1"}}
    assert ensure.missing_metadata(found, wanted) == {"labels": {"a": "1"}}
    labelled = msgspec.structs.replace(
        found, metadata=msgspec.structs.replace(found.metadata, labels={"a": "1", "b": "2"})
    )
    assert ensure.missing_metadata(labelled, wanted) == {}


def report_of(**spec: object) -> MachineConfigNode:
    body = {
        "metadata": {
            "name": "n",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-n"}],
        },
        "spec": {"node": {"name": "n"}, "pool": {"name": "worker"}, "configVersion": {"desired": "V1"}}
        | spec,
    }
    return msgspec.convert(body, MachineConfigNode)


def test_a_report_that_is_right_is_left_alone() -> None:
    assert reports.correction(node("n", "V0", "V2"), "worker", report_of()) == {}


def test_a_report_is_brought_back() -> None:
    """Node, pool and owner are restored; an existing desired config belongs to the node controller."""
    patch = reports.correction(node("n", "V0", "V2"), "edge", report_of(node={"name": "x"}))
    assert patch == {"spec": {"node": {"name": "n"}, "pool": {"name": "edge"}}}
    unset = report_of(configVersion={"desired": names.NOT_YET_SET})
    assert reports.correction(node("n", "V0", "V2"), "worker", unset) == {
        "spec": {"configVersion": {"desired": "V2"}}
    }
    assert reports.correction(node("n", None), "worker", unset) == {}


def test_a_report_without_owner_gets_it() -> None:
    orphan = msgspec.structs.replace(
        report_of(), metadata=msgspec.structs.replace(report_of().metadata, owner_references=())
    )
    patch = reports.correction(node("n", "V0"), "worker", orphan)
    assert patch == {"metadata": {"ownerReferences": [objects.owner(node("n"))]}}


@pytest.mark.parametrize(
    ("phase", "has"), [("", True), ("Running", True), ("Pending", False), ("Provisioning", False)]
)
def test_what_is_no_node_yet_has_no_report(phase: str, has: bool) -> None:
    found = node("n", "V0")
    status = msgspec.structs.replace(found.status, phase=phase)
    assert reports.has_report(msgspec.structs.replace(found, status=status)) is has
