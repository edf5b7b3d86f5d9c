"""Changed accounts: keys by fingerprint, and that a password changes, never its hash."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeVar

import msgspec

from mco.ignition.types import PasswdGroup, PasswdUser
from mco.plan.node.diff import Changes
from mco.plan.node.target import Target
from mco.plan.preview import parts, secrets
from mco.plan.preview.parts import Kind

A = TypeVar("A", PasswdUser, PasswdGroup)

Password = Literal["", "set", "changed", "removed"]

_SHOWN_FIELDS = ("name", "password_hash", "ssh_authorized_keys")


class Key(msgspec.Struct, frozen=True):
    """An SSH key as `ssh-keygen -l` names it; all fields are empty for a text that is no key."""

    type: str = ""
    fingerprint: str = ""
    comment: str = ""


class UserChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`attributes`: other fields that differ, which a running node cannot follow."""

    name: str
    change: Kind
    keys_added: tuple[Key, ...] = ()
    keys_removed: tuple[Key, ...] = ()
    keys_reordered: bool = False
    password: Password = ""
    attributes: tuple[str, ...] = ()


class AccountChanges(msgspec.Struct, frozen=True):
    """`groups` are the names of those that differ."""

    users: tuple[UserChange, ...]
    groups: tuple[str, ...]


def of(old: Target, new: Target, changes: Changes) -> AccountChanges | None:
    if not changes.passwd:
        return None
    before, after = old.config.passwd, new.config.passwd
    groups = tuple(_differing(_by_name(before.groups), _by_name(after.groups)))
    return AccountChanges(tuple(_users(_by_name(before.users), _by_name(after.users))), groups)


def _by_name(accounts: Iterable[A]) -> dict[str, A]:
    return {account.name: account for account in accounts}


def _differing(old: Mapping[str, A], new: Mapping[str, A]) -> list[str]:
    return [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]


def _users(old: Mapping[str, PasswdUser], new: Mapping[str, PasswdUser]) -> Iterator[UserChange]:
    for name in _differing(old, new):
        before, after = old.get(name, PasswdUser(name=name)), new.get(name, PasswdUser(name=name))
        keys = parts.list_change(before.ssh_authorized_keys, after.ssh_authorized_keys)
        yield UserChange(
            name=name,
            change=parts.kind(old.get(name), new.get(name)),
            keys_added=tuple(map(key, keys.added)),
            keys_removed=tuple(map(key, keys.removed)),
            keys_reordered=keys.reordered,
            password=_password(before.password_hash or "", after.password_hash or ""),
            attributes=tuple(_attributes(before, after)),
        )


def _attributes(old: PasswdUser, new: PasswdUser) -> Iterator[str]:
    for field in msgspec.structs.fields(PasswdUser):
        if field.name not in _SHOWN_FIELDS and getattr(old, field.name) != getattr(new, field.name):
            yield field.encode_name


def _password(old: str, new: str) -> Password:
    if old == new:
        return ""
    if not old:
        return "set"
    return "changed" if new else "removed"


def key(line: str) -> Key:
    """A line of an authorized_keys file; options before the type may hold anything and are left out."""
    words = line.split()
    for index, word in enumerate(words[:-1]):
        if blob := _blob(word, words[index + 1]):
            digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
            comment = " ".join(words[index + 2 :])
            secret = secrets.in_contents(comment.encode(errors="surrogatepass"))
            return Key(word, f"SHA256:{digest}", secrets.MASK if secret else comment)
    return Key()


def _blob(type_: str, encoded: str) -> bytes:
    """The key, if `encoded` is one of that type: it begins with the length and the name of the type."""
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""
    name = type_.encode(errors="surrogatepass")
    return blob if blob[4 : 4 + len(name)] == name and int.from_bytes(blob[:4], "big") == len(name) else b""
