"""spec/operator.md 3.3, 8.9 and spec/render.md 13.8: the Accept header decides the version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.base.errors import InvalidInput
from mco.configserver.negotiate import SERVED, MediaRange, media_ranges, negotiate

IGNITION = "application/vnd.coreos.ignition+json"


@pytest.mark.parametrize(
    ("accept", "served"),
    [
        (f"{IGNITION};version=2.4.0, {IGNITION};version=1;q=0.5, */*;q=0.1", "2.2.0"),
        (f"{IGNITION};version=2.2.0", "2.2.0"),
        (f"{IGNITION};version=2.99.1", "2.2.0"),
        (f"{IGNITION};version=3.1.0", "3.1.0"),
        (f"{IGNITION};version=3.2.0, */*;q=0.1", "3.2.0"),
        (f"{IGNITION};version=3.3.0, */*;q=0.1", "3.3.0"),
        (f"{IGNITION};version=3.4.0", "3.4.0"),
        (f"{IGNITION};version=3.5.0", "3.5.0"),
        (f"{IGNITION};version=3.4.9", "3.4.0"),
        (f"{IGNITION};version=3.6.0-experimental", "3.5.0"),
        (f"{IGNITION};version=3.99.0", "3.5.0"),
        (f"{IGNITION}; version=3.3.0 ; q=0.7", "3.3.0"),
        ("x/vnd.coreos.ignition+json;version=3.3.0", "3.3.0"),
        (IGNITION, "2.2.0"),
        (f"{IGNITION};version=1", "2.2.0"),
        (f"{IGNITION};version=1;version=3.1.0", "3.1.0"),
        ("coreos.com/ignition; version=0.1.0", "2.2.0"),
        ("text/plain", "2.2.0"),
        ("text/plain;version=3.3.0", "2.2.0"),
        ("garbage", "2.2.0"),
        (";;;,,,", "2.2.0"),
        ("", "2.2.0"),
    ],
)
def test_version_served(accept: str, served: str) -> None:
    assert negotiate(accept) == served


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0", "2.1.0", "3.0.0", "3.0.7", "4.0.0", "0.0.1"])
def test_version_refused_with_what_is_served(version: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        negotiate(f"{IGNITION};version={version}")
    assert version in str(refused.value)
    assert all(served in refused.value.hint for served in SERVED)


def test_higher_quality_decides_and_a_fitting_later_entry_does_not_rescue() -> None:
    assert negotiate(f"{IGNITION};version=3.1.0;q=0.1, {IGNITION};version=3.4.0;q=0.2") == "3.4.0"
    assert negotiate(f"{IGNITION};version=3.1.0, {IGNITION};version=3.4.0") == "3.1.0"
    with pytest.raises(InvalidInput):
        negotiate(f"{IGNITION};version=3.1.0;q=0.1, {IGNITION};version=4.0.0")


def test_entries_are_sorted_and_unusable_ones_left_out() -> None:
    header = f"nonsense, */*;q=0.1, {IGNITION};version=3.2.0;q=0.9, text/plain;q=oops;version=x"
    assert media_ranges(header) == (
        MediaRange("text", "plain", None, 1.0),
        MediaRange("application", "vnd.coreos.ignition+json", (3, 2, 0), 0.9),
        MediaRange("*", "*", None, 0.1),
    )
    assert media_ranges("garbage") == ()


@given(st.text() | st.text(alphabet="application/vnd.coreos.ignition+json;version=q,0123456789 ."))
def test_any_header_is_answered_or_refused(accept: str) -> None:
    try:
        served = negotiate(accept)
    except InvalidInput:
        asked = next(r.version for r in media_ranges(accept) if r.version and "ignition" in r.subtype)
        assert asked < (2, 2, 0) or asked[:2] == (3, 0) or asked[0] > 3
    else:
        assert served in SERVED
