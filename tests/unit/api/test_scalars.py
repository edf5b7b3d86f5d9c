"""Implicit types of YAML scalars, pinned to what yaml.v2 2.4.0 and Go's parsers answered."""

from __future__ import annotations

import math

import pytest

from mco.api.scalars import Scalar, must_be_quoted, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("y", True),
        ("N", False),
        ("on", True),
        ("Off", False),
        ("yEs", "yEs"),
        ("0644", 420),
        ("08", 8.0),
        ("0o17", 15),
        ("0O17", 15),
        ("0x1F", 31),
        ("0X1f", 31),
        ("0b101", 5),
        ("0b-101", -5),
        ("-0b11", -3),
        ("1_000", 1000),
        ("0x_1", 1),
        ("_1", "_1"),
        ("+5", 5),
        ("-_1", -1),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0x1FFFFFFFFFFFFFFFF", "0x1FFFFFFFFFFFFFFFF"),
        ("+0xFFFFFFFFFFFFFFFF", "+0xFFFFFFFFFFFFFFFF"),
        ("18446744073709551616", 18446744073709551616.0),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        (".5_5", 0.55),
        ("._5", "._5"),
        (".5_", ".5_"),
        ("1_2.5", 12.5),
        ("1e400", "1e400"),
        ("1e-400", 0.0),
        ("0x1p-2", "0x1p-2"),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("<<", "<<"),
        ("=", "="),
        ("inf", "inf"),
    ],
)
def test_a_plain_scalar_has_the_type_that_go_gives_it(text: str, value: Scalar) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


def test_infinities_and_not_a_number_are_floats() -> None:
    assert resolve(".inf") == math.inf
    assert resolve("-.INF") == -math.inf
    assert math.isnan(resolve(".NaN"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "2001-1-1",
        "2000-02-29",
        "0000-02-29",
        "2001-1-1T1:1:1Z",
        "2001-1-1t1:1:1.5+01:00",
        "2001-1-1T1:1:1,5Z",
        "2001-1-1T1:1:1+24:60",
        "2001-1-1 1:1:1",
        "2001-1-1   1:1:1.55",
        "1:30",
        "190:20:30.15",
        "1_0:30",
        "+1:30",
        "1:5.",
    ],
)
def test_dates_and_base_60_numbers_are_quoted_though_they_read_as_text(text: str) -> None:
    assert resolve(text) == text
    assert must_be_quoted(text)


@pytest.mark.parametrize(
    "text",
    [
        "2001-02-29",
        "1900-02-29",
        "2001-13-01",
        "2001-00-01",
        "2001-1-1T1:1:1",
        "2001-1-1 1:1:1Z",
        "2001-1-1T24:1:1Z",
        "2001-1-1T1:1:60Z",
        "2001-1-1T1:1:1+25:00",
        "2001-1-1\t1:1:1",
        "201-1-1",
        "2001-1-1 ",
        "1:60",
        "a1:30",
        "1:3:",
    ],
)
def test_what_only_looks_like_a_date_or_base_60_stays_plain(text: str) -> None:
    assert not must_be_quoted(text)


@pytest.mark.parametrize("text", ["", "~", "y", "No", "true", "1", "0x1f", "1e3", ".5", ".inf", "-0b1", "08"])
def test_what_would_not_read_back_as_text_is_quoted(text: str) -> None:
    assert must_be_quoted(text)
