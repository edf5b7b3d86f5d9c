"""spec/node.md 4.2 and 12.10."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.core import Pod, PodDisruptionBudget, PodStatus
from mco.base.errors import InvalidInput
from mco.plan.pool import drain
from tests.factories import node

REQUEST = drain.DrainRequest


@pytest.mark.parametrize(
    ("desired", "applied", "expected"),
    [
        (None, None, None),
        ("", "", None),
        ("drain-V1", "drain-V1", REQUEST("drain-V1", True, True)),
        ("drain-V1", None, REQUEST("drain-V1", True)),
        ("drain-V1", "uncordon-V0", REQUEST("drain-V1", True)),
        ("uncordon-rendered-worker-1", "drain-V1", REQUEST("uncordon-rendered-worker-1", False)),
        ("uncordon-V1", "uncordon-V1", REQUEST("uncordon-V1", False, True)),
        ("evacuate-V1", "evacuate-V1", None),
    ],
)
def test_requests(desired: str | None, applied: str | None, expected: drain.DrainRequest | None) -> None:
    pairs = {names.DESIRED_DRAIN: desired, names.LAST_APPLIED_DRAIN: applied}
    subject = node("n", "V0", annotations={k: v for k, v in pairs.items() if v is not None})
    assert drain.request(subject) == expected


def test_an_unknown_verb_names_node_and_annotation() -> None:
    with pytest.raises(InvalidInput, match="unsupported drain verb evacuate") as caught:
        drain.request(node("n", "V0", annotations={names.DESIRED_DRAIN: "evacuate-V1"}))
    assert caught.value.subject == "Node/n"


def pod(name: str, **metadata: Any) -> Pod:
    return msgspec.convert({"metadata": {"name": name, "namespace": "d"} | metadata}, Pod)


def owned(kind: str) -> dict[str, Any]:
    return {"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": "o", "controller": True}]}


def test_mirrors_and_daemon_pods_stay() -> None:
    pods = [
        pod("bare"),
        pod("replica", **owned("ReplicaSet")),
        pod("daemon", **owned("DaemonSet")),
        pod("static", annotations={"kubernetes.io/config.mirror": "x"}),
    ]
    movable = drain.movable(pods)
    assert [p.name for p in movable] == ["bare", "replica", "daemon"]
    assert [p.name for p in movable if drain.daemon_set(p)] == ["daemon"]


@pytest.mark.parametrize(("phase", "stays"), [("Running", True), ("Succeeded", False), ("Failed", False)])
def test_a_finished_pod_of_a_daemonset_goes(phase: str, stays: bool) -> None:
    finished = msgspec.structs.replace(pod("d", **owned("DaemonSet")), status=PodStatus(phase=phase))
    assert (drain.daemon_set(finished) is not None) is stays


def budget(name: str, allowed: int, namespace: str = "d", **selector: Any) -> PodDisruptionBudget:
    body = {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(body, PodDisruptionBudget)


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ([], "pod d/web: no"),
        ([budget("a", 0, matchLabels={"app": "web"})], "pod d/web: budget a allows 0 disruptions: no"),
        ([budget("a", 0, matchLabels={"app": "db"})], "pod d/web: no"),
        ([budget("a", 0, "other")], "pod d/web: no"),
        ([budget("all", 1)], "pod d/web: budget all allows 1 disruption: no"),
        (
            [budget("a", 2, matchLabels={"app": "web"}), budget("b", 0)],
            "pod d/web: budget a allows 2 disruptions, budget b allows 0 disruptions: no",
        ),
        ([budget("odd", 0, matchExpressions=[{"key": "a", "operator": "Near"}])], "pod d/web: no"),
    ],
)
def test_a_refusal_names_the_budgets_of_the_pod(budgets: list[PodDisruptionBudget], expected: str) -> None:
    assert drain.refusal(pod("web", labels={"app": "web"}), "no", budgets) == expected
