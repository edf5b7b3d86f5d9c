"""The hashed text, piece by piece; the original's library (yaml.v2 2.4.0) wrote every expectation."""

from __future__ import annotations

import pytest

from mco.render.yamltext import dump, scalar


@pytest.mark.parametrize(
    ("text", "written"),
    [
        # What would read back as something else.
        ("", '""'),
        ("~", '"~"'),
        ("yes", '"yes"'),
        ("0x1f", '"0x1f"'),
        ("2001-01-01", '"2001-01-01"'),
        ("1:30", '"1:30"'),
        ("<<", "<<"),
        ("=", "="),
        # Indicators.
        ("a: b", "'a: b'"),
        ("a:b", "a:b"),
        ("a:", "'a:'"),
        ("# x", "'# x'"),
        ("a #b", "'a #b'"),
        ("a#b", "a#b"),
        ("- a", "'- a'"),
        ("-a", "-a"),
        ("-", "'-'"),
        ("?", "'?'"),
        (": a", "': a'"),
        ("---", "'---'"),
        ("...a", "'...a'"),
        ("it's", "it's"),
        ("'it's", "'''it''s'"),
        ("%a", "'%a'"),
        ("@a", "'@a'"),
        ("`a", "'`a'"),
        ("a, [b]", "a, [b]"),
        ("[a", "'[a'"),
        # Spaces at the edges.
        (" a", "' a'"),
        ("a ", "'a '"),
        ("a\u00a0", "a\u00a0"),
        # Characters.
        ("a\tb", '"a\\tb"'),
        ("a\rb", '"a\\rb"'),
        ("\0\a\b\v\f\x1b", '"\\0\\a\\b\\v\\f\\e"'),
        ("\x01\x7f\x9f", '"\\x01\\x7F\\x9F"'),
        ('\x01"\\', '"\\x01\\"\\\\"'),
        ("\x01\u00a0\u0085", '"\\x01\u00a0\\N"'),
        ("caf\u00e9 \u4e2d", "caf\u00e9 \u4e2d"),
        ("\U0001f600", '"\\U0001F600"'),
        ("a\ufeffb", '"a\\uFEFFb"'),
        ("\ufeffa b", '"\\uFEFF\\x61\\x20\\x62"'),
        ("\ufffe", '"\\uFFFE"'),
        # Line and paragraph separators are line breaks.
        ("a\u2028b", "'a\u2028    b'"),
        ("a\u2028", "'a\u2028'"),
        ("a \u2028b", '"a \\Lb"'),
        ("a\u2029 b", '"a\\P b"'),
        # Literals.
        ("a\nb", "|-\n    a\n    b"),
        ("a\nb\n", "|\n    a\n    b\n"),
        ("a\n\n", "|+\n    a\n\n"),
        ("\n", "|2+\n\n"),
        ("\na", "|2-\n\n    a"),
        (" a\nb\n", "|2\n     a\n    b\n"),
        ("a\n\n  b\n", "|\n    a\n\n      b\n"),
        ("a\n\u2028b", "|-\n    a\n\u2028    b"),
        ("a\nb ", '"a\\nb "'),
        ("a \nb", '"a \\nb"'),
        ("a\n\tb", '"a\\n\\tb"'),
        ("yes\n", "|\n    yes\n"),
    ],
)
def test_the_style_of_a_string(text: str, written: str) -> None:
    assert scalar(text, 6, 4) == written


LONG = "x" * 76


@pytest.mark.parametrize(
    ("text", "written"),
    [
        # The first space at which the column is beyond 80.
        (f"{LONG} y z", f"{LONG} y\n  z"),
        (f"{LONG}xx y", f"{LONG}xx\n  y"),
        (f"{LONG}x y", f"{LONG}x y"),
        # Only single spaces fold in plain text, and never a quoted edge.
        (f"{LONG}xx  y z", f"{LONG}xx  y\n  z"),
        (f"'{LONG} y z", f"'''{LONG}\n  y z'"),
        (f"{LONG}xx ", f"'{LONG}xx '"),
        # Escapes keep the space after a fold.
        (f"\t{LONG}xx  y", f'"\\t{LONG}xx\n  \\ y"'),
        # The column starts again after a fold.
        (
            " ".join(["x" * 30] * 7),
            f"{'x' * 30} {'x' * 30} {'x' * 30}\n  {'x' * 30} {'x' * 30} {'x' * 30}\n  {'x' * 30}",
        ),
        # A character is a column, whatever its bytes.
        ("é" * 76 + " y z", "é" * 76 + " y\n  z"),
    ],
)
def test_long_lines_fold_behind_column_80(text: str, written: str) -> None:
    assert dump({"a": text}) == f"a: {written}\n"


def test_the_tree_is_block_style_with_sorted_keys() -> None:
    tree = {
        "b": {"empty": {}, "list": [], "flag": True, "number": -5},
        "a": ["x", {"d": "1", "c": ["y"]}, [["z"]], [], {}, False, 7],
        "c": "end\n",
        "d": [{"e": "l\n"}, "m\n\n"],
    }
    assert dump(tree) == (
        'a:\n- x\n- c:\n  - "y"\n  d: "1"\n- - - z\n- []\n- {}\n- false\n- 7\n'
        "b:\n  empty: {}\n  flag: true\n  list: []\n  number: -5\n"
        "c: |\n  end\n"
        "d:\n- e: |\n    l\n- |+\n  m\n\n"
    )


def test_an_empty_tree_and_a_value_without_text() -> None:
    assert dump({}) == "{}\n"
    with pytest.raises(TypeError):
        dump({"a": [1.5]})
