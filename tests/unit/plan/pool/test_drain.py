"""spec/node.md 4.2 and 12.10."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.core import Pod
from mco.base.errors import InvalidInput
from mco.plan.pool import drain
from tests.factories import node


@pytest.mark.parametrize(
    ("desired", "applied", "expected"),
    [
        (None, None, None),
        ("", "", None),
        ("drain-V1", "drain-V1", None),
        ("drain-V1", None, drain.DrainRequest("drain-V1", True)),
        ("drain-V1", "uncordon-V0", drain.DrainRequest("drain-V1", True)),
        ("uncordon-rendered-worker-1", "drain-V1", drain.DrainRequest("uncordon-rendered-worker-1", False)),
    ],
)
def test_requests(desired: str | None, applied: str | None, expected: drain.DrainRequest | None) -> None:
    pairs = {names.DESIRED_DRAIN: desired, names.LAST_APPLIED_DRAIN: applied}
    subject = node("n", "V0", annotations={k: v for k, v in pairs.items() if v is not None})
    assert drain.pending(subject) == expected


def test_an_unknown_verb_names_node_and_annotation() -> None:
    with pytest.raises(InvalidInput, match="unsupported drain verb evacuate") as caught:
        drain.pending(node("n", "V0", annotations={names.DESIRED_DRAIN: "evacuate-V1"}))
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
    assert [p.name for p in drain.evictable(pods)] == ["bare", "replica"]
