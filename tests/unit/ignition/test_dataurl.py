"""Data URLs, spec/operator.md 3.4 and 8.9, and what protects against hostile ones."""

from __future__ import annotations

import base64
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.ignition import dataurl


def test_percent_encoding() -> None:
    assert dataurl.encode_percent(b"Hello, world!") == "data:,Hello%2C%20world!"
    assert dataurl.encode_percent(b"a/b~-_.'()*\n\xff") == "data:,a%2Fb~-_.'()*%0A%FF"


def test_base64_encoding() -> None:
    assert dataurl.encode_base64(b"hi") == "data:text/plain;charset=utf-8;base64,aGk="
    assert dataurl.encode_base64(b"hi", "application/json") == "data:application/json;base64,aGk="


@given(st.binary(max_size=200))
def test_round_trips(data: bytes) -> None:
    for source in (dataurl.encode_percent(data), dataurl.encode_base64(data)):
        dataurl.check(source)
        assert dataurl.decode(source) == data
    assert dataurl.decode(dataurl.encode_base64(gzip.compress(data)), "gzip") == data


@given(st.text(max_size=30).map(lambda text: "data:" + text))
def test_any_text_is_decoded_or_refused(source: str) -> None:
    try:
        dataurl.decode(source)
        decoded = True
    except dataurl.DataURLError:
        decoded = False
    try:
        dataurl.check(source)
        checked = True
    except dataurl.DataURLError:
        checked = False
    assert decoded == checked


def test_a_gzip_bomb_is_stopped() -> None:
    bomb = base64.b64encode(gzip.compress(bytes(200 * 1024 * 1024))).decode()
    with pytest.raises(dataurl.DataURLError, match="longer than 1048576 bytes"):
        dataurl.decode(f"data:;base64,{bomb}", "gzip", limit=1024 * 1024)


def test_the_limit_holds_without_compression() -> None:
    assert dataurl.decode("data:,abc", limit=3) == b"abc"
    with pytest.raises(dataurl.DataURLError, match="longer than 2 bytes"):
        dataurl.decode("data:,abc", limit=2)


def test_several_gzip_members_are_one_text() -> None:
    assert dataurl.gunzip(gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"


@pytest.mark.parametrize("data", [b"x", b"\x1f\x8b", gzip.compress(b"abc")[:-4], gzip.compress(b"a") + b"x"])
def test_broken_gzip(data: bytes) -> None:
    with pytest.raises(dataurl.DataURLError, match="failed decompressing"):
        dataurl.gunzip(data)


def test_unknown_compression() -> None:
    with pytest.raises(dataurl.DataURLError, match='unsupported compression type "xz"'):
        dataurl.decode("data:,", "xz")
