"""Merges configs (spec/render.md 9).

One rule for any number of configs, later ones winning: values are replaced, optional values replaced when
set, structs merged field by field, list elements matched by their key and merged at the place of the first
mention, new ones appended. Lists that share keys (files, directories and links; arguments to have and not to
have) move an element to where it was mentioned last; lists of options are concatenated; a header without a
value removes it.

Configs are looked at once each and every element is merged once, from all its mentions, so the cost is
linear; the result equals merging pair by pair from the left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from mco.ignition import types as t
from mco.ignition.origins import Origins
from mco.ignition.schema import Field, Kind, fields, is_zero
from mco.ignition.slots import Mention, groups


class Merged(NamedTuple):
    """`config` is the result; `origins` tells which inputs each element came from."""

    config: t.Config
    origins: Origins


def merge(parent: t.Config, child: t.Config) -> t.Config:
    """`child` over `parent`."""
    return merge_all((parent, child)).config


def merge_all(configs: Sequence[t.Config], *, plain_children: bool = False) -> Merged:
    """All configs, each over the ones before it; no config gives the empty one.

    `plain_children` treats the contents of every file but the first config's as uncompressed unless they say
    otherwise, and drops `compression: ""` everywhere, so that contents and compression stay together when a
    later config replaces the contents only (spec/render.md 1.8). A single config stays as it is.
    """
    if not configs:
        return Merged(t.EMPTY, Origins((), plain=False))
    if len(configs) == 1:
        return Merged(configs[0], Origins(configs, plain=False))
    mentions = [Mention(index, config) for index, config in enumerate(configs)]
    merger = _Merger(plain_children)
    return Merged(merger.struct(t.Config, mentions), Origins(configs, plain=plain_children))


class _Merger:
    def __init__(self, plain_children: bool) -> None:
        self._plain = plain_children

    def struct(self, struct: type, mentions: list[Mention]) -> Any:
        """One struct from all its mentions; those that say nothing are skipped."""
        merged = self._merged(struct, mentions)
        if self._plain and struct is t.File:
            return _with_own_compression(merged, mentions[-1].value)
        return merged

    def _merged(self, struct: type, mentions: list[Mention]) -> Any:
        if len(mentions) == 1:
            return self._single(struct, mentions[0])
        spoken = [mention for mention in mentions if not is_zero(mention.value)]
        if len(spoken) < 2:
            return self._single(struct, (spoken or mentions)[-1])
        values = {f.name: self._field(f, spoken) for f in fields(struct) if not _is_keyed(f)}
        for group in groups(struct):
            for mention in spoken:
                group.add(mention)
            for field in group.members:
                alive = group.alive(field.name)
                if field.kind is Kind.STRINGS:
                    values[field.name] = tuple(slot.key for slot in alive)
                else:
                    values[field.name] = tuple(self.struct(field.type, slot.mentions) for slot in alive)
        return struct(**values)

    def _single(self, struct: type, mention: Mention) -> Any:
        if self._plain and struct is t.Storage:
            storage: t.Storage = mention.value
            files = tuple(self.struct(t.File, [Mention(mention.source, file)]) for file in storage.files)
            return msgspec.structs.replace(storage, files=files)
        return mention.value

    def _field(self, field: Field, mentions: list[Mention]) -> Any:
        name = field.name
        if field.kind is Kind.VALUE:
            return getattr(mentions[-1].value, name)
        if field.kind is Kind.OPTIONAL:
            values = (getattr(mention.value, name) for mention in reversed(mentions))
            return next((value for value in values if value is not None), None)
        if field.kind is Kind.STRUCT:
            inner = [Mention(mention.source, getattr(mention.value, name)) for mention in mentions]
            return self.struct(field.type, inner)
        return tuple(item for mention in mentions for item in getattr(mention.value, name))


def _is_keyed(field: Field) -> bool:
    return field.kind in (Kind.STRUCTS, Kind.STRINGS) and not field.concatenates


def _with_own_compression(file: t.File, last: t.File) -> t.File:
    """The last mention decides alone, even when it says nothing."""
    compression = last.contents.compression or None
    if file.contents.compression == compression:
        return file
    contents = msgspec.structs.replace(file.contents, compression=compression)
    return msgspec.structs.replace(file, contents=contents)
