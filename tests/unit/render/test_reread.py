"""Characters that do not survive the original's way over JSON."""

from __future__ import annotations

import pytest

from mco.base.errors import RenderError
from mco.render.naming import spec_yaml
from mco.render.reread import reread


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\u0085b", "a b"),
        ("a \u0085  b", "a b"),
        ("\u0085", " "),
        ("a\u0085\u0085b", "a\nb"),
        ("a\u0085 \u0085\u0085 b", "a\n\nb"),
        ("a\n\u0085b", "a\n b"),
        ("\t\u0085\t", "\t \t"),
        ("a\u0085---b", "a ---b"),
        ("a\u0085 --- b", "a --- b"),
        ("\u00a0\u2028\ufeff\U0001f600 ", "\u00a0\u2028\ufeff\U0001f600 "),
    ],
)
def test_next_line_is_folded_as_a_line_break_in_quotes(text: str, kept: str) -> None:
    assert reread({"a": [text]}) == {"a": [kept]}


@pytest.mark.parametrize("character", ["\x7f", "\x80", "\x9f", "\ufffe", "\uffff"])
def test_characters_that_yaml_refuses_fail_with_the_original_text(character: str) -> None:
    with pytest.raises(RenderError) as caught:
        spec_yaml({"config": {"units": [{"contents": f"a{character}"}]}})
    assert str(caught.value) == "error converting JSON to YAML: yaml: control characters are not allowed"
    assert caught.value.path == "$.spec.config.units.0.contents"
    assert caught.value.hint


def test_a_document_mark_behind_a_next_line_fails_too() -> None:
    with pytest.raises(RenderError) as caught:
        spec_yaml({"a": "x\u0085y", "b": "z\u0085--- end"})
    text = "error converting JSON to YAML: yaml: line 3: found unexpected document indicator"
    assert str(caught.value) == text


def test_what_needs_no_change_is_not_copied() -> None:
    tree = {"a": ["caf\u00e9", {"b": 1}], "c": True}
    assert reread(tree) is tree
