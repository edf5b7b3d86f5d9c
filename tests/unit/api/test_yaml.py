"""Manifests as text: values as Go reads them, and errors that say where."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api.yaml import load_all, load_documents
from mco.base.errors import InvalidInput


def load(text: str) -> Any:
    (value,) = load_all(text.encode(), "test.yaml")
    return value


def error(text: str | bytes) -> InvalidInput:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(InvalidInput) as caught:
        load_all(data, "test.yaml")
    assert caught.value.subject == "test.yaml"
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mode: 0644", {"mode": 420}),
        ("a: yes\nb: 'yes'\nc: off", {"a": True, "b": "yes", "c": False}),
        ("a: 2001-01-01\nb: 1:30", {"a": "2001-01-01", "b": "1:30"}),
        ("a: 1e3\nb: 420.0\nc: 1.5", {"a": 1000, "b": 420, "c": 1.5}),
        ("1: a\ntrue: b", {"1": "a", "true": "b"}),
        ("1.5: a\n1234567.0: b\n0.00001: c", {"1.5": "a", "1.234567e+06": "b", "1e-05": "c"}),
        ("1e40: a\n16777217.0: b", {".inf": "a", "1.6777216e+07": "b"}),
        ("a: ! 12\nb: !!str 12\nc: !!float 5", {"a": "12", "b": "12", "c": 5}),
        ("a: !!binary aGk=\nb: !foo 5", {"a": "hi", "b": "5"}),
        ("a: &x {k: 1}\nb: *x\nc: [*x, *x]", {"a": {"k": 1}, "b": {"k": 1}, "c": [{"k": 1}, {"k": 1}]}),
        ("&k a: *k", {"a": "a"}),
        ("a:\n- x\n-\n", {"a": ["x", None]}),
        ("a: |\n  b\n  c\n", {"a": "b\nc\n"}),
        ("'<<': {b: 1}", {"<<": {"b": 1}}),
        ("{a: 1, b: [x, z]}", {"a": 1, "b": ["x", "z"]}),
        ("? a\n: b", {"a": "b"}),
    ],
)
def test_values_are_what_the_original_reads(text: str, value: Any) -> None:
    assert load(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("m: &m {a: 1, b: 2}\nk:\n  <<: *m\n  b: 3", {"a": 1, "b": 3}),
        ("m: &m {a: 1, b: 2}\nk:\n  b: 3\n  <<: *m", {"a": 1, "b": 2}),
        ("k:\n  <<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
    ],
)
def test_a_merge_key_wins_over_keys_above_and_loses_to_keys_below(text: str, value: Any) -> None:
    assert load(text)["k"] == value


def test_documents_carry_their_place_and_empty_ones_are_left_out() -> None:
    documents = load_documents(b"# only a comment\n---\n---\na: 1\n---\nnull\n---\n\n\nb: 2\n", "f.yaml")
    assert [(d.value, d.place) for d in documents] == [
        ({"a": 1}, "f.yaml, line 4"),
        ({"b": 2}, "f.yaml, line 10"),
    ]


def test_json_is_read_as_json_even_several_values_in_a_row() -> None:
    documents = load_documents(b'{"a": "\\ud83d\\ude00\\/", "b": 1e2}\n{"c": "\\ud800x"}', "f.json")
    assert [d.value for d in documents] == [{"a": "\U0001f600/", "b": 100}, {"c": "\ufffdx"}]
    assert [d.line for d in documents] == [1, 2]


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("a: b\nc: d: e\n", 2, 5, "mapping values are not allowed"),
        ("a:\n\tb: c\n", 2, 1, "cannot start any token"),
        ("a: [1, 2\nb: c\n", 2, 2, "did not find expected ',' or ']'"),
        ("a: 1\nb: 2\na: 3\n", 3, 1, 'key "a" already set in map'),
        ('{"a": 1,\n "a": 2}', 2, 2, 'key "a" already set in map'),
        ("a: 1\n'a': 2\n", 2, 1, 'key "a" already set in map'),
        ("1: a\n'1': b\n", 2, 1, 'key "1" already set in map'),
        ("a: *x\n", 1, 4, "undefined alias 'x'"),
        ("a: &x [*x]\n", 1, 8, "anchor 'x' value contains itself"),
        ("a: .nan\n", 1, 4, ".nan is not a number that JSON has"),
        ("a: 1\n~: b\n", 2, 1, "a key is empty or null"),
        ("a: 1\n? [b]\n: c\n", 2, 3, "invalid map key"),
        ("a: !!int x\n", 1, 4, "cannot decode !!str `x` as a !!int"),
        ("a: !!binary '*'\n", 1, 4, "!!binary value contains invalid base64 data"),
        ("a: 1\n<<: x\n", 2, 1, "map merge requires map or sequence of maps as the value"),
        ("a: b\nc: \x01d\n", 2, 4, "control characters are not allowed"),
        ('{"a": 1,', 2, 1, "did not find expected node content"),
        ("[" * 600, 1, 501, "nested deeper than 500 levels"),
        ('{"a":' * 2000, 1, 1, "nested deeper"),
    ],
)
def test_an_error_names_line_and_column(text: str, line: int, column: int, problem: str) -> None:
    message = error(text).message
    assert problem in message
    if column > 1 or line > 1:
        assert message.startswith(f"error parsing test.yaml: line {line}, column {column}: ")


def test_text_that_is_not_utf_8_is_refused_where_it_stops_being_so() -> None:
    found = error(b"a: b\nc: caf\xe9\n")
    assert found.message == "error parsing test.yaml: line 2, column 7: the text is not UTF-8"
    assert "UTF-8" in found.hint


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    found = error("\n".join(levels))
    assert "document contains excessive aliasing" in found.message
    assert found.hint


def test_shared_parts_of_a_normal_document_are_fine() -> None:
    text = "base: &b {a: 1}\n" + "".join(f"k{i}: *b\n" for i in range(400))
    assert len(load(text)) == 401


def test_common_mistakes_get_a_hint() -> None:
    assert "tabs" in error("a:\n\tb: c\n").hint
    assert "': '" in error("c: d: e\n").hint
    assert error("a: 1\na: 2\n").hint
