"""The notation of spec/controllerconfig.md 1."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api.notation import schema
from mco.api.variants import resolve
from mco.base.errors import InvalidInput


def _field(line: str, *more: str) -> Any:
    text = "K  object\n  " + "\n  ".join((line, *more))
    return resolve(schema("K", text), ["X"])["properties"]["f"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("f  string", {"type": "string"}),
        ("f  int32 range=0..", {"type": "integer", "format": "int32", "minimum": 0}),
        ("f  int64 range=1..9", {"type": "integer", "format": "int64", "minimum": 1, "maximum": 9}),
        ("f  bytes nullable", {"type": "string", "format": "byte", "nullable": True}),
        ("f  time", {"type": "string", "format": "date-time"}),
        ("f  object", {"type": "object"}),
        ("f  object mapAtomic", {"type": "object", "x-kubernetes-map-type": "atomic"}),
        ("f  object embedded", {"type": "object", "x-kubernetes-embedded-resource": True}),
        ("f  string len=..5", {"type": "string", "maxLength": 5}),
        ('f  string enum("",a,B)', {"type": "string", "enum": ["", "a", "B"]}),
        ('f  string default="x"', {"type": "string", "default": "x"}),
        ('f  object default={"a":"b"}', {"type": "object", "default": {"a": "b"}}),
        ("f  string format=uri pattern=`^[a ]+$`", {"type": "string", "format": "uri", "pattern": "^[a ]+$"}),
        ("f  map of string", {"type": "object", "additionalProperties": {"type": "string"}}),
        (
            "f  atomic list n=1..2 of string len=1..3",
            {
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "minItems": 1,
                "maxItems": 2,
                "items": {"type": "string", "minLength": 1, "maxLength": 3},
            },
        ),
        (
            "f  set list format=ip of string",
            {"type": "array", "x-kubernetes-list-type": "set", "format": "ip", "items": {"type": "string"}},
        ),
        ("f  string [gate X]", {"type": "string"}),
        ("f  string len=..1[base] len=..2[gate X]", {"type": "string", "maxLength": 2}),
    ],
)
def test_types_and_words(line: str, expected: Any) -> None:
    assert _field(line) == expected


def test_fields_and_rules_of_a_list() -> None:
    found = _field(
        "f  listMap(name) list of object",
        "  ! size(self) > 0",
        "  = must not be empty",
        "  []! has(self.name)",
        "  name*  string",
    )
    assert found == {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-validations": [{"rule": "size(self) > 0", "message": "must not be empty"}],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": "has(self.name)"}],
        },
    }


def test_shapes_get_more_words_and_rules() -> None:
    shape = "@name  string len=..5\n  ! a"
    found = resolve(schema("K", "K  object\n  f  @name nullable\n    ! b\n  g  @name", shape), ())
    rules = {n: [r["rule"] for r in s["x-kubernetes-validations"]] for n, s in found["properties"].items()}
    assert rules == {"f": ["a", "b"], "g": ["a"]}
    assert found["properties"]["f"]["nullable"] and "nullable" not in found["properties"]["g"]


def test_groups_stand_where_they_are_named() -> None:
    text = "K  object\n  +both(set)\n\n+both\n  +one\n  b  $L list of string\n\n+one\n  a*  string\n"
    found = resolve(schema("K", text), ())
    assert found["required"] == ["a"]
    assert found["properties"]["b"]["x-kubernetes-list-type"] == "set"


def test_gates_of_rules() -> None:
    text = "K  object\n  ! [base] a\n  ! [gate X] b\n  ! [gate X alone] c"
    marked = schema("K", text)
    rules = [[r["rule"] for r in resolve(marked, on)["x-kubernetes-validations"]] for on in ((), ("X",))]
    assert rules == [["a"], ["b", "c"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("K  object\n   f  string", "line 2 is indented by 3 blanks"),
        ("K  object\n      f  string", "line 2 is indented by 6 blanks"),
        ("K  object\n  f  text", "text is no type"),
        ("K  object\n  f  string long", "long is no word of a schema"),
        ("K  object\n  f  @other", "no shape is called @other"),
        ("K  object\n  +other", "no group is called +other"),
        ("K  object [gate X]", "K itself cannot depend on a feature gate"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        schema("K", text)
    assert message in str(caught.value)
