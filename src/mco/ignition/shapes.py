"""What the structs looked like in older versions of the spec, where that shows in how a document is read."""

from __future__ import annotations

from functools import cache

from mco.ignition import types as t
from mco.ignition.schema import Field, Kind, fields


class ConfigReference(t.IgnitionStruct, frozen=True, kw_only=True):
    """A resource of `ignition.config` in spec 3.0: it has no compression."""

    source: str | None = None
    verification: t.Verification = t.Verification()


class CaReference(t.IgnitionStruct, frozen=True, kw_only=True):
    """A certificate authority in spec 3.0: its source is no optional value."""

    source: str = ""
    verification: t.Verification = t.Verification()


# Fields that were not optional before spec 3.3: absent is the empty text there, and stays it when translated
# up.
_OLD_VALUES = frozenset(
    {(t.Link, "target"), (t.Raid, "level"), (t.ClevisCustom, "config"), (t.ClevisCustom, "pin")}
)
# Structs that could be absent as a whole before spec 3.3: null takes them away.
_OLD_POINTERS = frozenset({(t.Luks, "clevis"), (t.Clevis, "custom")})
_REFERENCES: dict[tuple[type, str], type] = {
    (t.IgnitionConfig, "merge"): ConfigReference,
    (t.IgnitionConfig, "replace"): ConfigReference,
    (t.TLS, "certificate_authorities"): CaReference,
}


@cache
def known(struct: type, minor: int) -> tuple[Field, ...]:
    """The fields that a minor version has, as it has them."""
    return tuple(_at(struct, field, minor) for field in fields(struct) if field.since <= minor)


def _at(struct: type, field: Field, minor: int) -> Field:
    """The field as that version has it."""
    if minor < 3 and (struct, field.name) in _OLD_VALUES:
        return field._replace(kind=Kind.VALUE)
    if minor == 0 and (struct, field.name) in _REFERENCES:
        return field._replace(type=_REFERENCES[struct, field.name])
    return field


def is_nullable(struct: type, field: Field, minor: int) -> bool:
    """Whether the struct in a field may be absent as a whole."""
    return field.nullable or (minor < 3 and (struct, field.name) in _OLD_POINTERS)


def go_name(struct: type, minor: int) -> str:
    """The name of the struct in the original's package of that version."""
    if struct is t.Resource and minor == 0:
        return "FileContents"
    if struct is t.ClevisCustom and minor < 3:
        return "Custom"
    return struct.__name__
