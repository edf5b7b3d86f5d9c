"""spec/node.md 3.7.1 and 12.6."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api import names
from mco.plan.pool import firstboot
from tests.factories import node, pool

OWNERS = {"rendered-infra-1": "infra", "rendered-worker-1": "worker", "rendered-master-1": "master"}


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({names.FIRST_PIVOT_CONFIG: "rendered-infra-1"}, "infra"),
        ({names.FIRST_PIVOT_CONFIG: "rendered-infra-1", names.CUSTOM_POOL_LABELS_APPLIED: ""}, None),
        ({names.FIRST_PIVOT_CONFIG: "rendered-worker-1"}, None),
        ({names.FIRST_PIVOT_CONFIG: "rendered-master-1"}, None),
        ({names.FIRST_PIVOT_CONFIG: "rendered-gone-1"}, None),
        ({}, None),
    ],
)
def test_custom_pool_of_a_new_node(annotations: dict[str, str], expected: str | None) -> None:
    assert firstboot.custom_pool(node("n", annotations=annotations), OWNERS.get) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"matchLabels": {"a": "1", "b": ""}}, {"a": "1", "b": ""}),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, {"a": "1"}),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, {}),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {}),
        (
            {
                "matchLabels": {"a": "label"},
                "matchExpressions": [
                    {"key": "a", "operator": "Exists"},
                    {"key": "b", "operator": "In", "values": ["2"]},
                ],
            },
            {"a": "label", "b": "2"},
        ),
        (None, {}),
    ],
)
def test_labels_that_make_the_selector_match(selector: Any, expected: dict[str, str]) -> None:
    assert firstboot.labels(pool("infra", nodeSelector=selector)) == expected
