"""Where the elements of a merged config came from.

An input *contributes* to an element when it supplies a value that the result shows, and is *shadowed* when
it mentions the element and leaving it out would change nothing about it: every value it gave was replaced by
a later input, was there before, or stands in a list from which a later input moved the element. So for every
element: leaving out a shadowed input leaves the element as it is; leaving out a contributing one changes it,
unless another input gives the same value.

Nothing is computed until somebody asks: merging does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from mco.ignition import types as t
from mco.ignition.schema import Field, Kind, fields, is_zero
from mco.ignition.slots import Group, Mention, Slot, groups

# What an element of each list is called. Lists that are not named here belong to the element they stand in.
_KINDS: dict[tuple[type, str], str] = {
    (t.Disk, "partitions"): "partition",
    (t.IgnitionConfig, "merge"): "merged config",
    (t.KernelArguments, "should_exist"): "kernel argument",
    (t.KernelArguments, "should_not_exist"): "absent kernel argument",
    (t.Passwd, "groups"): "group",
    (t.Passwd, "users"): "user",
    (t.PasswdUser, "groups"): "group membership",
    (t.PasswdUser, "ssh_authorized_keys"): "SSH key",
    (t.Proxy, "no_proxy"): "proxy exception",
    (t.Storage, "directories"): "directory",
    (t.Storage, "disks"): "disk",
    (t.Storage, "files"): "file",
    (t.Storage, "filesystems"): "filesystem",
    (t.Storage, "links"): "link",
    (t.Storage, "luks"): "encrypted device",
    (t.Storage, "raid"): "array",
    (t.Systemd, "units"): "unit",
    (t.TLS, "certificate_authorities"): "certificate authority",
    (t.Unit, "dropins"): "drop-in",
}


# Structs on the way to such lists, and structs that have them.
_CONTAINERS = frozenset(
    {
        t.Ignition,
        t.IgnitionConfig,
        t.KernelArguments,
        t.Passwd,
        t.Proxy,
        t.Security,
        t.Storage,
        t.Systemd,
        t.TLS,
    }
)
_HOLDERS = frozenset(struct for struct, _ in _KINDS)


class Element(NamedTuple):
    """One element of the result. `keys` leads to it: `("/etc/motd",)`, `("sshd.service", "10-limits.conf")`;
    `inputs` and `shadowed` are indexes of the merged configs, ascending."""

    kind: str
    keys: tuple[str, ...]
    inputs: tuple[int, ...]
    shadowed: tuple[int, ...]


class Origins:
    """The origins of everything in a merged config."""

    def __init__(self, configs: Sequence[t.Config], *, plain: bool) -> None:
        self._configs = configs
        self._plain = plain

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """All elements, in the order of the result."""
        mentions = [Mention(index, config) for index, config in enumerate(self._configs)]
        return tuple(self._walk(t.Config, mentions, ()))

    @cached_property
    def _index(self) -> dict[tuple[str, tuple[str, ...]], Element]:
        return {(element.kind, element.keys): element for element in self.elements}

    def of(self, kind: str, *keys: str) -> Element | None:
        """The origin of one element, as `of("file", "/etc/motd")`."""
        return self._index.get((kind, keys))

    def _walk(self, struct: type, mentions: list[Mention], keys: tuple[str, ...]) -> Iterator[Element]:
        spoken = [mention for mention in mentions if not is_zero(mention.value)]
        for field in fields(struct):
            if field.kind is Kind.STRUCT and field.type in _CONTAINERS:
                yield from self._walk(field.type, _inner(spoken, field), keys)
        for group in _filled(struct, spoken):
            for field in group.members:
                kind = _KINDS.get((struct, field.name))
                if kind is not None:
                    for slot in group.alive(field.name):
                        yield from self._element(kind, field, slot, (*keys, slot.key))

    def _element(self, kind: str, field: Field, slot: Slot, keys: tuple[str, ...]) -> Iterator[Element]:
        if field.kind is Kind.STRINGS or (len(slot.mentions) == 1 and not slot.displaced):
            inputs = {slot.mentions[0].source}
        else:
            inputs = self._contributors(field.type, slot.mentions)
            if self._plain and field.type is t.File and _any_compressed(slot):
                inputs.add(slot.mentions[-1].source)
            inputs = inputs or {slot.mentions[0].source}
            inputs |= _cutters(field.type, slot)
        mentioned = {mention.source for mention in (*slot.mentions, *slot.displaced)}
        yield Element(kind, keys, tuple(sorted(inputs)), tuple(sorted(mentioned - inputs)))
        if field.type in _HOLDERS:
            yield from self._walk(field.type, slot.mentions, keys)

    def _contributors(self, struct: type, mentions: list[Mention]) -> set[int]:
        """The inputs whose values show in the element's own fields."""
        found: set[int] = set()
        for field in fields(struct):
            if field.kind is Kind.OPTIONAL:
                setters = (m.source for m in reversed(mentions) if getattr(m.value, field.name) is not None)
                found.update(index for index, _ in zip(setters, range(1), strict=False))
            elif field.kind is Kind.STRUCT:
                found |= self._contributors(field.type, _inner(mentions, field))
            elif field.concatenates:
                found |= {mention.source for mention in mentions if getattr(mention.value, field.name)}
        for group in _filled(struct, mentions):
            found |= self._part_contributors(struct, group)
        return found

    def _part_contributors(self, struct: type, group: Group) -> set[int]:
        """For lists whose elements have no origin of their own: who placed, filled or removed an element."""
        found: set[int] = set()
        for field in group.members:
            if (struct, field.name) in _KINDS:
                continue
            found |= {mention.source for mention in group.removals}
            for slot in group.alive(field.name):
                found.add(slot.mentions[0].source)
                if field.kind is Kind.STRUCTS:
                    found |= self._contributors(field.type, slot.mentions)
        return found


def _inner(mentions: list[Mention], field: Field) -> list[Mention]:
    return [Mention(mention.source, getattr(mention.value, field.name)) for mention in mentions]


def _filled(struct: type, mentions: list[Mention]) -> list[Group]:
    filled = groups(struct)
    for group in filled:
        for mention in mentions:
            group.add(mention)
    return filled


def _cutters(struct: type, slot: Slot) -> set[int]:
    """Inputs that mention the key in a sibling list and so cut this element off from earlier mentions of
    it."""
    earlier = [mention.source for mention in slot.displaced if isinstance(mention.value, struct)]
    siblings = (mention.source for mention in slot.displaced if not isinstance(mention.value, struct))
    return {source for source in siblings if earlier and source > earlier[0]}


def _any_compressed(slot: Slot) -> bool:
    return any(mention.value.contents.compression is not None for mention in slot.mentions)
