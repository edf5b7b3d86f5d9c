"""The JSONPath of printer columns."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api.meta.jsonpath import compile_path
from mco.base.errors import InvalidInput

OBJECT: dict[str, Any] = {
    "metadata": {"annotations": {"example.com/by": "me", "it's": "odd"}},
    "spec": {"list": [1, 2, 3], "flag": True},
    "status": {"conditions": [{"type": "A", "status": "1"}, {"type": "B", "status": "2"}, {"type": "B"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.list", [[1, 2, 3]]),
        ("{.spec.list[0]}", [1]),
        ("$.spec.list[-1]", [3]),
        (".spec.list[*]", [1, 2, 3]),
        (".spec.list[7]", []),
        (".spec.flag", [True]),
        (".spec.missing.deeper", []),
        (".spec.list.notanobject", []),
        (r".metadata.annotations.example\.com/by", ["me"]),
        (".metadata.annotations['example.com/by']", ["me"]),
        (r".metadata.annotations['it\'s']", ["odd"]),
        ('.metadata.annotations["example.com/by"]', ["me"]),
        ('.status.conditions[?(@.type=="B")].status', ["2"]),
        (".status.conditions[?(@.type=='A')].status", ["1"]),
        ('.status.conditions[?(@.type!="B")].status', ["1"]),
        ('.status.conditions[?(@.status=="2")].type', ["B"]),
        ('.status.conditions[?(@.type == "C")].status', []),
        (".status.conditions[*].type", ["A", "B", "B"]),
    ],
)
def test_paths(path: str, found: list[Any]) -> None:
    assert compile_path(path)(OBJECT) == found


@pytest.mark.parametrize("path", [".a[", "a.b", ".a[?(@.b)]", ".a[?(@.b>1)]", ".a..b", ".a[1:2]"])
def test_what_is_outside_of_the_subset_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be understood"):
        compile_path(path)
