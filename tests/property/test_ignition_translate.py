"""Laws of translation between versions (spec/render.md 8.2, 8.3)."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.ignition import types as t
from mco.ignition.parse import parse
from mco.ignition.report import IgnitionError
from mco.ignition.translate import down
from tests.property.strategies import configs, valid_configs

OLDER = ("3.4.0", "3.3.0", "3.2.0", "3.1.0")


@pytest.mark.parametrize("version", OLDER)
@given(config=valid_configs())
def test_down_and_up_again_is_the_same_when_nothing_is_lost(version: str, config: t.Config) -> None:
    raw = down(config, version)
    assert json.loads(raw)["ignition"]["version"] == version
    parsed = parse(raw)
    assert parsed.config == config
    assert parsed.version == version
    assert not any("unused key" in entry.message for entry in parsed.report.entries)


@given(configs(), st.sampled_from((*OLDER, "2.2.0", "3.0.0")))
def test_down_gives_a_document_of_that_version_or_refuses(config: t.Config, version: str) -> None:
    with suppress(IgnitionError):
        raw = down(config, version)
        if version != "2.2.0":  # of 2.2 not all that can be written can be read (filesystems, partitions)
            assert parse(raw).version == version


@given(valid_configs())
def test_spec_2_says_the_same_files_and_units(config: t.Config) -> None:
    """Through 2.2 and back: nothing but defaults that spec 2 turns round and the order are different."""
    if len(config.passwd.users) > 1 or any(user.name != "core" for user in config.passwd.users):
        return
    back = parse(down(config, "2.2.0")).config
    written = {file.path: file.contents.source for file in config.storage.files if not file.append}
    assert {f.path: f.contents.source for f in back.storage.files if f.path in written} == written
    assert {u.name: u.enabled for u in back.systemd.units} == {
        u.name: u.enabled for u in config.systemd.units
    }
    assert back.storage.raid == config.storage.raid
