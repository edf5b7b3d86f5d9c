"""Translates configs between versions of the spec (spec/render.md 8.2, 8.3)."""

from __future__ import annotations

import msgspec

from mco.ignition import types as t


def up(config: t.Config) -> t.Config:
    """A config of any 3.x version as 3.5: nothing but the version changes, what an older version spells
    otherwise has been brought into shape by the parser."""
    ignition = msgspec.structs.replace(config.ignition, version=t.VERSION)
    return msgspec.structs.replace(config, ignition=ignition)
