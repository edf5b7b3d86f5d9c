"""The walker over structural schemas: prune, default, validate."""

from __future__ import annotations

import copy
import re
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.api.crds import definitions
from mco.apiserver.schema.patterns import compile_pattern
from mco.apiserver.schema.structural import structure

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "known": {"type": "integer", "default": 1},
                "nested": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}},
                "with": {
                    "type": "object",
                    "default": {},
                    "properties": {"b": {"type": "string", "default": "y"}},
                },
                "keeps": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"strict": {"type": "object", "properties": {"c": {"type": "string"}}}},
                },
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "list": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"d": {"type": "string", "default": "z"}}},
                },
                "other": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                },
            },
        }
    },
}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "known", "nested", "with", "keeps", "map", "list", "a", "d", "junk"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def _pruned(spec: Any) -> tuple[Any, list[str]]:
    obj = {"spec": copy.deepcopy(spec)}
    dropped = structure(SCHEMA).prune(obj)
    return obj["spec"], dropped


@pytest.mark.parametrize(
    ("spec", "kept", "dropped"),
    [
        ({"known": 1, "junk": 2}, {"known": 1}, ["spec.junk"]),
        ({"nested": {"a": "b", "junk": {}}}, {"nested": {"a": "b"}}, ["spec.nested.junk"]),
        ({"keeps": {"any": {"thing": 1}}}, {"keeps": {"any": {"thing": 1}}}, []),
        ({"keeps": {"strict": {"junk": 1}}}, {"keeps": {"strict": {}}}, ["spec.keeps.strict.junk"]),
        ({"map": {"any": 1}}, {"map": {"any": 1}}, []),
        ({"list": [{"d": "1"}, {"e": "2"}]}, {"list": [{"d": "1"}, {}]}, ["spec.list[1].e"]),
        (
            {"other": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": {"x": 1}, "y": 2}},
            {"other": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": {}}},
            ["spec.other.spec.x", "spec.other.y"],
        ),
    ],
)
def test_pruning(spec: Any, kept: Any, dropped: list[str]) -> None:
    assert _pruned(spec) == (kept, dropped)


@pytest.mark.parametrize(
    ("spec", "result"),
    [
        ({}, {"known": 1, "with": {"b": "y"}}),
        ({"known": None}, {"known": 1, "with": {"b": "y"}}),
        ({"known": 0, "nested": {}}, {"known": 0, "nested": {"a": "x"}, "with": {"b": "y"}}),
        ({"list": [{}, {"d": "1"}]}, {"known": 1, "with": {"b": "y"}, "list": [{"d": "z"}, {"d": "1"}]}),
    ],
)
def test_defaulting(spec: Any, result: Any) -> None:
    obj = {"spec": copy.deepcopy(spec)}
    structure(SCHEMA).default(obj)
    assert obj["spec"] == result


def test_defaults_are_not_shared() -> None:
    compiled = structure(SCHEMA)
    first: dict[str, Any] = {"spec": {}}
    second: dict[str, Any] = {"spec": {}}
    compiled.default(first)
    first["spec"]["with"]["b"] = "changed"
    compiled.default(second)
    assert second["spec"]["with"]["b"] == "y"


@given(values)
def test_pruning_and_defaulting_settle_and_never_fail(value: Any) -> None:
    """Whatever somebody sends: the second time changes nothing, and validation answers."""
    compiled = structure(SCHEMA)
    compiled.prune(value)
    compiled.default(value)
    once = copy.deepcopy(value)
    assert compiled.prune(value) == []
    compiled.default(value)
    assert value == once
    compiled.validate(value)


OURS = [
    structure(version["schema"]["openAPIV3Schema"])
    for body in definitions()
    for version in body["spec"]["versions"]
]
for schema_of_ours in OURS:
    # Their rules are compiled when the first object comes.
    schema_of_ours.validate({})


@given(values)
def test_our_schemas_answer_whatever_is_sent(value: Any) -> None:
    for compiled in OURS:
        sent = copy.deepcopy({"spec": value, "status": value})
        compiled.prune(sent)
        compiled.default(sent)
        compiled.validate(sent)


def _messages(schema: dict[str, Any], value: Any) -> list[str]:
    whole = {"type": "object", "properties": {"f": schema}}
    return [str(cause) for cause in structure(whole).validate({"f": value})]


@pytest.mark.parametrize(
    ("schema", "value", "messages"),
    [
        ({"type": "integer"}, 3.0, []),
        (
            {"type": "integer"},
            3.5,
            ['f: Invalid value: "number": f in body must be of type integer: "number"'],
        ),
        (
            {"type": "integer"},
            True,
            ['f: Invalid value: "boolean": f in body must be of type integer: "boolean"'],
        ),
        ({"type": "number"}, 3, []),
        ({"type": "string"}, None, ['f: Invalid value: "null": f in body must be of type string: "null"']),
        ({"type": "string", "nullable": True}, None, []),
        (
            {"type": "integer", "format": "int32"},
            2**31,
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in f'],
        ),
        (
            {"type": "integer", "maximum": 3, "exclusiveMaximum": True},
            3,
            ["f: Invalid value: 3: f in body should be less than 3"],
        ),
        (
            {"type": "integer", "multipleOf": 2},
            3,
            ["f: Invalid value: 3: f in body should be a multiple of 2"],
        ),
        (
            {"type": "object", "minProperties": 1},
            {},
            ["f: Invalid value: 0: f in body should have at least 1 properties"],
        ),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            [],
            ["f: Invalid value: 0: f in body should have at least 1 items"],
        ),
        ({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z", []),
        (
            {"type": "string", "format": "date-time"},
            "soon",
            ['f: Invalid value: "soon": f in body must be of type date-time: "soon"'],
        ),
        ({"type": "string", "format": "byte"}, "Zm9v", []),
        (
            {"type": "string", "format": "byte"},
            "?",
            ['f: Invalid value: "?": f in body must be of type byte: "?"'],
        ),
        ({"type": "string", "format": "not-known"}, "?", []),
        ({"type": "string", "maxLength": 2}, "äöü", ["f: Too long: may not be more than 2 bytes"]),
        ({"type": "string", "maxLength": 3}, "äöü", []),
        ({"type": "string", "enum": ["a"]}, "b", ['f: Unsupported value: "b": supported values: "a"']),
        ({"type": "integer", "oneOf": [{"minimum": 3}, {"multipleOf": 2}]}, 5, []),
        (
            {"type": "integer", "oneOf": [{"minimum": 3}, {"multipleOf": 2}]},
            6,
            [
                '<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid '
                "alternatives"
            ],
        ),
        (
            {"type": "string", "not": {"pattern": "^a"}},
            "ab",
            ['<nil>: Invalid value: "": "f" must not validate the schema (not)'],
        ),
        (
            {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "^b"}]},
            "a",
            [
                'f: Invalid value: "a": f in body should be at least 2 chars long',
                "f: Invalid value: \"a\": f in body should match '^b'",
                '<nil>: Invalid value: "": "f" must validate all the schemas (allOf). None validated',
            ],
        ),
    ],
)
def test_messages(schema: dict[str, Any], value: Any, messages: list[str]) -> None:
    assert _messages(schema, value) == messages


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^a\z", "a", True),
        (r"^\d+$", "١", False),
        ("^[a$]$", "$", True),
        ("^[[:alpha:]]+$", "abc", True),
        ("^[[:alpha:]]+$", "ab1", False),
        ("^[^[:space:]]+$", "a b", False),
        (r"^\$$", "$", True),
        ("a|b$", "b", True),
        ("^[]a]$", "]", True),
    ],
)
def test_patterns_mean_what_re2_means(pattern: str, text: str, matches: bool) -> None:
    assert compile_pattern(pattern).occurs_in(text) is matches


@pytest.mark.parametrize("pattern", ["^(a+)+$", "a+b", "(a|aa)+$", "a*a*a*a*a*c", "(?P<x>a*)*b"])
def test_patterns_take_no_longer_for_texts_made_to_confuse_them(pattern: str) -> None:
    """Python's own engine would try for hours."""
    text = "a" * 50_000 + "!"
    compiled = compile_pattern(pattern)
    assert not compiled.occurs_in(text)
    assert compiled.first_in(text) == ""


@given(st.sampled_from(["a+b", "(a|b)+", "^a?b*", "[ab]{2}", "b(a)", "a$"]), st.text("ab\n", max_size=400))
def test_both_engines_find_the_same(pattern: str, text: str) -> None:
    compiled = compile_pattern(pattern)
    python, linear = (msgspec.structs.replace(compiled, longest=longest) for longest in (sys.maxsize, -1))
    assert python.occurs_in(text) is linear.occurs_in(text)
    assert python.first_in(text) == linear.first_in(text)


def test_a_pattern_that_only_python_knows_is_refused() -> None:
    with pytest.raises(re.error, match=r"invalid repeat count: `\{2000\}`"):
        compile_pattern("a{2000}")
