"""Cells of tables."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mco.apiserver.tables import builtin
from mco.apiserver.tables.columns import Column, age, human_duration, path_column

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (130, "2m10s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (10860, "3h1m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (176400, "2d1h"),
        (691200, "8d"),
        (63071999, "729d"),
        (63072000, "2y"),
        (63158400, "2y1d"),
        (252288000, "8y"),
    ],
)
def test_durations_as_people_know_them(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        ("2026-01-01T11:59:00Z", "60s"),
        ("2026-01-01T11:59:00.000000Z", "60s"),
        (None, "<unknown>"),
        ("soon", "<invalid>"),
    ],
)
def test_ages(timestamp: Any, text: str) -> None:
    assert age(timestamp, NOW) == text


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", "a", "a"),
        ("string", 5, "5"),
        ("string", {"a": 1}, '{"a":1}'),
        ("integer", 5, 5),
        ("integer", "5", None),
        ("boolean", True, True),
        ("date", "2026-01-01T11:00:00Z", "60m"),
    ],
)
def test_cells_by_type(kind: str, value: Any, cell: Any) -> None:
    assert path_column("C", ".f", kind=kind).cell({"f": value}, NOW) == cell


def test_an_absent_value_is_an_empty_cell() -> None:
    assert path_column("C", ".f").cell({}, NOW) is None


def _cell(columns: tuple[Column, ...], name: str, obj: dict[str, Any]) -> Any:
    return next(column for column in columns if column.name == name).cell(obj, NOW)


def test_roles_of_a_node() -> None:
    labels = {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io/edge": "",
        "kubernetes.io/role": "x",
    }
    assert _cell(builtin.NODES, "Roles", {"metadata": {"labels": labels}}) == "edge,worker,x"
    assert _cell(builtin.NODES, "Roles", {"metadata": {}}) == "<none>"


@pytest.mark.parametrize(
    ("status", "condition"),
    [
        ({}, "Pending"),
        ({"conditions": [{"type": "Approved", "status": "True"}]}, "Approved"),
        ({"conditions": [{"type": "Approved", "status": "True"}], "certificate": "x"}, "Approved,Issued"),
        ({"conditions": [{"type": "Denied", "status": "True"}]}, "Denied"),
    ],
)
def test_condition_of_a_request(status: dict[str, Any], condition: str) -> None:
    assert _cell(builtin.REQUESTS, "Condition", {"metadata": {}, "status": status}) == condition
