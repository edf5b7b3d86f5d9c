"""An object and its manifest: what is changed, what stays (spec/operator.md 6.6, cases in 8.14)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.api.meta.patches import merge
from mco.payload.ensure import difference, patch

IMAGE = {"name": "main", "image": "i:1"}
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
TOLERATION = {"key": "a", "operator": "Exists"}


def obj(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "o"}} | fields


def deployment(pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [IMAGE]} | (pod or {})}
    return obj("Deployment", spec={"selector": {"matchLabels": {"app": "a"}}, "template": template} | spec)


def served(manifest: dict[str, Any]) -> dict[str, Any]:
    """As a server would keep it: with its defaults."""
    made = copy.deepcopy(manifest)
    made["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 1}
    spec = made["spec"]
    spec.setdefault("replicas", 1)
    spec.setdefault("strategy", ROLLING)
    spec |= {"revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
    pod = spec["template"]["spec"]
    for key, value in (
        ("restartPolicy", "Always"),
        ("dnsPolicy", "ClusterFirst"),
        ("terminationGracePeriodSeconds", 30),
        ("securityContext", {}),
        ("schedulerName", "default-scheduler"),
    ):
        pod.setdefault(key, value)
    for container in pod["containers"]:
        container.setdefault("imagePullPolicy", "IfNotPresent")
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("resources", {})
        for port in container.get("ports", ()):
            port.setdefault("protocol", "TCP")
        for probe in ("livenessProbe", "readinessProbe"):
            if probe in container:
                defaults = {
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                }
                container[probe] = defaults | container[probe]
    return made


FULL = deployment(
    {
        "containers": [
            IMAGE
            | {
                "env": [{"name": "A", "value": "1"}],
                "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81, "name": "other"}],
                "livenessProbe": {"exec": {"command": ["true"]}},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "tolerations": [TOLERATION],
    }
)


def pod_of(manifest: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = manifest["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("manifest", [deployment(), deployment(strategy={"type": "Recreate"}), FULL])
def test_defaults_of_the_server_are_no_difference(manifest: dict[str, Any]) -> None:
    assert patch(manifest, served(manifest)) == {}


@pytest.mark.parametrize(
    ("edit", "spec"),
    [
        ({"replicas": 3}, {"replicas": 1}),
        ({"strategy": {"type": "Recreate"}}, {"strategy": ROLLING}),
        ({"paused": True}, None),
    ],
)
def test_what_somebody_edited_of_a_deployment(edit: dict[str, Any], spec: dict[str, Any] | None) -> None:
    found = served(deployment())
    found["spec"] |= edit
    changed = patch(deployment(), found)
    if spec is None:
        assert changed == {}
    else:
        assert merge(found, changed)["spec"] | spec == merge(found, changed)["spec"]


def test_recreate_keeps_nothing_of_a_rolling_update() -> None:
    wanted = deployment(strategy={"type": "Recreate"})
    found = served(deployment())
    assert merge(found, patch(wanted, found))["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(
    "edit",
    [
        lambda pod: pod["containers"].append({"name": "extra", "image": "x"}),
        lambda pod: pod["volumes"].append({"name": "extra", "emptyDir": {}}),
        lambda pod: pod["containers"][0]["env"].append({"name": "B", "value": "2"}),
        lambda pod: pod["containers"][0]["env"].__setitem__(0, {"name": "A", "valueFrom": {"x": "y"}}),
        lambda pod: pod["containers"][0]["ports"].pop(),
        lambda pod: pod["containers"][0]["volumeMounts"].append({"name": "v", "mountPath": "/w"}),
        lambda pod: pod["containers"][0]["livenessProbe"].__setitem__("periodSeconds", 99),
        lambda pod: pod["containers"][0]["livenessProbe"].__setitem__("httpGet", {"port": 1}),
        lambda pod: pod["containers"][0].__setitem__("readinessProbe", {"exec": {"command": ["x"]}}),
        lambda pod: pod["containers"][0].__setitem__("resources", {"limits": {"cpu": "1"}}),
        lambda pod: pod["containers"][0].__setitem__("image", "i:2"),
        lambda pod: pod.__setitem__("volumes", [{"name": "v", "hostPath": {"path": "/"}}]),
        lambda pod: pod.__setitem__("nodeSelector", {"a": "b"}),
        lambda pod: pod.__setitem__("terminationGracePeriodSeconds", 5),
        lambda pod: pod.__setitem__("tolerations", []),
    ],
)
def test_a_pod_template_that_was_edited_comes_back(edit: Any) -> None:
    found = served(FULL)
    edit(pod_of(found))
    assert patch(FULL, found)["spec"]
    mended = merge(found, patch(FULL, found))
    assert pod_of(served(mended)) == pod_of(served(FULL))
    assert patch(FULL, mended) == {}


def test_tolerations_of_others_stay_in_any_order() -> None:
    found = served(FULL)
    pod_of(found)["tolerations"] = [{"key": "b"}, TOLERATION]
    assert patch(FULL, found) == {}
    pod_of(found)["tolerations"] = [{"key": "b"}]
    assert pod_of(merge(found, patch(FULL, found)))["tolerations"] == [{"key": "b"}, TOLERATION]


SERVICE = obj(
    "Service", spec={"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}], "selector": {"x": "y"}}
)


@pytest.mark.parametrize(
    ("ports", "changes"),
    [
        ([{"name": "b", "port": 2}, {"name": "a", "port": 1}], False),
        (
            [
                {"name": "a", "port": 1, "protocol": "TCP", "targetPort": 1},
                {"name": "b", "port": 2, "protocol": "TCP", "targetPort": 2},
            ],
            False,
        ),
        ([{"name": "a", "port": 1}, {"name": "c", "port": 2}], True),
        ([{"name": "a", "port": 1}, {"name": "b", "port": 3}], True),
        ([{"name": "a", "port": 1}], True),
    ],
)
def test_ports_of_a_service(ports: list[dict[str, Any]], changes: bool) -> None:
    found = obj("Service", spec={"ports": ports, "selector": {"x": "y"}, "clusterIP": "10.0.0.1"})
    assert bool(patch(SERVICE, found)) == changes
    mended = merge(found, patch(SERVICE, found))
    assert mended["spec"]["clusterIP"] == "10.0.0.1"
    assert {(p["name"], p["port"]) for p in mended["spec"]["ports"]} == {("a", 1), ("b", 2)}


RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


@pytest.mark.parametrize(
    ("manifest", "found", "changed"),
    [
        (
            obj("ConfigMap", data={"a": "1"}),
            obj("ConfigMap", data={"a": "2", "b": "3"}),
            {"data": {"a": "1"}},
        ),
        (obj("ConfigMap", data={"a": "1"}), obj("ConfigMap"), {"data": {"a": "1"}}),
        (obj("Role", rules=[RULE]), obj("Role", rules=[RULE, RULE]), {"rules": [RULE]}),
        (
            obj("Role", rules=[RULE]),
            obj("Role", rules=[RULE | {"verbs": ["get", "list"]}]),
            {"rules": [RULE]},
        ),
        (obj("Role", rules=[RULE]), obj("Role", rules=[RULE]), {}),
        (
            obj("RoleBinding", subjects=[{"kind": "Group", "name": "g"}]),
            obj(
                "RoleBinding",
                subjects=[{"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}],
            ),
            {},
        ),
        (obj("Odd", spec={"a": 1}), obj("Odd", spec={"a": 2, "b": 3}, status={"c": 4}), {"spec": {"a": 1}}),
        (obj("ConfigMap", data={}), obj("ConfigMap"), {}),
        (obj("Odd", spec={"a": {}, "b": [], "c": None}), obj("Odd", spec={}), {}),
    ],
)
def test_other_kinds(manifest: dict[str, Any], found: dict[str, Any], changed: dict[str, Any]) -> None:
    assert patch(manifest, found) == changed


def test_labels_annotations_and_owners_are_added_to() -> None:
    wanted, found = obj("Odd"), obj("Odd")
    wanted["metadata"] |= {"labels": {"a": "1"}, "ownerReferences": [{"name": "x"}]}
    found["metadata"] |= {"labels": {"a": "0", "b": "2"}, "ownerReferences": [{"name": "y"}]}
    assert patch(wanted, found) == {
        "metadata": {"labels": {"a": "1"}, "ownerReferences": [{"name": "y"}, {"name": "x"}]}
    }


def documents() -> st.SearchStrategy[Any]:
    leaves = st.integers(0, 3) | st.booleans() | st.text("ab", max_size=2)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
        max_leaves=8,
    )


@given(
    st.dictionaries(st.sampled_from("abc"), documents()), st.dictionaries(st.sampled_from("abc"), documents())
)
def test_the_difference_leads_from_one_to_the_other(have: dict[str, Any], made: dict[str, Any]) -> None:
    assert merge(have, difference(have, made)) == made


@given(
    st.dictionaries(st.sampled_from("abc"), documents()), st.dictionaries(st.sampled_from("abc"), documents())
)
def test_what_was_made_so_needs_no_second_time(wanted: dict[str, Any], have: dict[str, Any]) -> None:
    manifest, found = obj("Odd", spec=wanted), obj("Odd", spec=have)
    assert patch(manifest, merge(found, patch(manifest, found))) == {}
