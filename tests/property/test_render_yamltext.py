"""The hashed text against libyaml, which agrees with the original on all but three characters
(spec/render.md 1.7), and against reading it back."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from mco.api.scalars import must_be_quoted
from mco.api.yaml import load_all
from mco.render.yamltext import dump

# U+2028 and U+2029 before a closing quote and U+FEFF at the start differ in libyaml; surrogates are no text.
characters = st.characters(exclude_characters="\u2028\u2029\ufeff", exclude_categories=["Cs"])
telling = st.sampled_from(
    list("  \n\n\t-:#'\"?&*!|>%@`[]{},=<~0123456789_.+eExXobTZynab\\\u00a0\u00e9\U0001f600")
)
words = st.lists(st.text("x#:'", min_size=1, max_size=40), min_size=1, max_size=12).map(" ".join)
texts = st.text(characters, max_size=120) | st.text(telling, max_size=120) | words
keys = st.text("abcdefgXYZ", max_size=30).map("k{}".format)
trees = st.dictionaries(
    keys,
    st.recursive(
        texts | st.booleans() | st.integers(-(2**31), 2**53),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    ),
    max_size=4,
)


class _Dumper(yaml.CSafeDumper):
    """The recipe of the specification: libyaml with styles chosen by the same rules."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else '"' if must_be_quoted(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _plain(dumper: Any, value: Any) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(value).lower())


_Dumper.yaml_implicit_resolvers = {}
_Dumper.add_representer(str, _text)
_Dumper.add_representer(bool, _plain)
_Dumper.add_representer(int, _plain)


def by_libyaml(tree: Any) -> str:
    text: str = yaml.dump(tree, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=80)
    return text.removesuffix("...\n")


@given(trees)
def test_the_text_is_what_libyaml_writes(tree: dict[str, Any]) -> None:
    assert dump(tree) == by_libyaml(tree)


@given(trees)
def test_the_text_reads_back_as_the_tree(tree: dict[str, Any]) -> None:
    assert load_all(dump(tree).encode(), "text") == [tree]


@given(st.text(st.sampled_from("a \u2028\u2029\ufeff\n'x"), max_size=60))
def test_separators_never_break_the_tree(text: str) -> None:
    assert dump({"a": text, "b": "x"}).endswith(("\nb: x\n", "\u2028b: x\n", "\u2029b: x\n"))
