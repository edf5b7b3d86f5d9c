"""spec/operator.md 1.7: how a ControllerConfig takes what is new."""

from __future__ import annotations

from typing import Any

import pytest

from mco.operator.controllerconfig import differences
from mco.operator.objects import Installation, controller_config, marked
from mco.plan.installation.discovered import Sources
from mco.plan.installation.images import OURS, for_nodes

INSTALLATION = Installation(server="https://api", ca=b"ca", version="1", image="example/mco:1")
NETWORK = {"spec": {"serviceNetwork": ["172.30.0.0/16"]}, "status": {"networkType": "OVNKubernetes"}}


def stored(found: Sources | None = None, **spec: Any) -> dict[str, Any]:
    made: dict[str, Any] = controller_config(INSTALLATION, found or Sources())
    metadata = made["metadata"] | {"resourceVersion": "7"}
    return made | {"metadata": metadata, "spec": made["spec"] | spec}


def changed(found: dict[str, Any], sources: Sources | None = None) -> dict[str, Any]:
    patch = differences(controller_config(INSTALLATION, sources or Sources()), found)
    return {change["path"]: change["value"] for change in patch}


def test_nothing_new_is_no_write() -> None:
    assert changed(stored()) == {}


@pytest.mark.parametrize(
    ("field", "have", "becomes"),
    [
        ("kubeAPIServerServingCAData", "b2xk", "Y2E="),
        ("additionalTrustBundle", "b2xk", None),
        ("cloudProviderCAData", "b2xk", None),
        ("proxy", {"httpProxy": "http://old"}, None),
        ("network", {"mtuMigration": {}}, None),
    ],
)
def test_what_is_set_and_cleared(field: str, have: Any, becomes: Any) -> None:
    assert changed(stored(**{field: have})) == {
        "/metadata/resourceVersion": "7",
        f"/spec/{field}": becomes,
    }


@pytest.mark.parametrize(
    ("field", "have"),
    [
        ("dns", {"spec": {"baseDomain": "example"}}),
        ("releaseImage", "example/release"),
        ("cloudProviderConfig", "text"),
        ("images", for_nodes({OURS: INSTALLATION.image, "keepalivedImage": "example/keepalived"})),
    ],
)
def test_what_stays_when_nobody_knows_it(field: str, have: Any) -> None:
    assert changed(stored(**{field: have})) == {}


def test_what_the_server_adds_is_no_difference() -> None:
    infra = controller_config(INSTALLATION)["spec"]["infra"]
    defaulted = infra | {"status": infra["status"] | {"cpuPartitioning": "None"}}
    assert changed(stored(infra=defaulted)) == {}


def test_annotations_are_kept() -> None:
    found = stored()
    found["metadata"]["annotations"] = {"mine": "x"}
    annotations = [path for path in changed(found) if path.startswith("/metadata/annotations/")]
    assert len(annotations) == 2
    del found["metadata"]["annotations"]
    assert "/metadata/annotations" in changed(found)


def test_a_network_that_is_new() -> None:
    made = changed(stored(), Sources(network=NETWORK))
    assert made["/spec/clusterDNSIP"] == "172.30.0.10"
    assert made["/spec/networkType"] == "OVNKubernetes"


def test_a_rotation_is_told_once() -> None:
    """The flag falls again, so that the next one is a change too."""
    config = controller_config(INSTALLATION)
    told = marked(config, rotated=True)
    key = "machineconfiguration.openshift.io/service-ca-rotate"
    assert told["metadata"]["annotations"][key] == "true"
    path = f"/metadata/annotations/{key.replace('/', '~1')}"
    found = told | {"metadata": told["metadata"] | {"resourceVersion": "7"}}
    patch = differences(marked(config, rotated=False), found)
    assert {change["path"]: change["value"] for change in patch} == {
        "/metadata/resourceVersion": "7",
        path: "false",
    }
