"""Parsed configs are kept by content."""

from __future__ import annotations

import msgspec
import pytest

from mco.ignition.report import IgnitionError
from mco.render.sources import Sources, raw_config
from tests.machineconfigs import file, files, mc


def raw(path: str, padding: int = 0) -> msgspec.Raw:
    found = raw_config(mc("a", files(file(path, "data:," + "x" * padding))).spec)
    assert found is not None
    return found


def test_equal_content_is_parsed_once() -> None:
    sources = Sources()
    assert sources.parse(raw("/a")) is sources.parse(raw("/a"))
    assert sources.parse(raw("/b")) is not sources.parse(raw("/a"))


def test_the_ones_used_last_are_kept_within_the_limit() -> None:
    sources = Sources(limit=2500)
    first, second = sources.parse(raw("/a", 1000)), sources.parse(raw("/b", 1000))
    assert sources.parse(raw("/a", 1000)) is first
    sources.parse(raw("/c", 1000))
    assert sources.parse(raw("/a", 1000)) is first
    assert sources.parse(raw("/b", 1000)) is not second


def test_a_config_beyond_the_limit_is_used_all_the_same() -> None:
    assert Sources(limit=10).parse(raw("/a")).config.storage.files[0].path == "/a"


def test_what_cannot_be_parsed_fails_every_time() -> None:
    sources = Sources()
    for _ in range(2):
        with pytest.raises(IgnitionError):
            sources.parse(b"{}")


def test_absent_and_null_configs_are_none() -> None:
    assert raw_config(mc("a").spec) is None
