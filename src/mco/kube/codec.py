"""Bytes from the server to typed objects: only declared fields are ever built, straight from the bytes.

An object that does not have its type (somebody changed a CRD) must not take its neighbours down: a page that
does not decode as a whole is decoded item by item, and the culprits are named.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from mco.api.meta.objects import APIStruct, Object, ObjectMeta
from mco.api.resources import Resource
from mco.kube.errors import DecodeError
from mco.kube.requests import subject

T = TypeVar("T", bound=Object)
Reject = Callable[[DecodeError], None]


class ListMeta(APIStruct, frozen=True, kw_only=True):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class Page(APIStruct, Generic[T], frozen=True, kw_only=True):
    """One page of a list, as the server sends it; `items` is null for an empty one."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] | None = None


class _RawPage(APIStruct, frozen=True, kw_only=True):
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


class _Identity(APIStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


def decode_object(raw: bytes | msgspec.Raw, res: Resource[T]) -> T:
    """Raises DecodeError, which names the object and the JSON path."""
    try:
        obj: T = _object_decoder(res.type).decode(raw)
        return _named(obj, res)
    except msgspec.MsgspecError as error:
        raise _culprit(raw, res, error) from error


def decode_page(raw: bytes, res: Resource[T], reject: Reject | None = None) -> Page[T]:
    """One page. An undecodable item goes to `reject`, or is raised as DecodeError when there is none."""
    try:
        page = _page_decoder(res.type).decode(raw)
    except msgspec.MsgspecError:
        page = _item_by_item(raw, res, reject)
    for item in page.items or ():
        _named(item, res)
    return page


def _item_by_item(raw: bytes, res: Resource[T], reject: Reject | None) -> Page[T]:
    try:
        rough = msgspec.json.decode(raw, type=_RawPage)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"the list of {res.plural} is not a list: {error}", subject=res.plural) from error
    items: list[T] = []
    for item in rough.items or ():
        try:
            items.append(decode_object(item, res))
        except DecodeError as error:
            if reject is None:
                raise
            reject(error)
    return Page(metadata=rough.metadata, items=items)


def _named(obj: T, res: Resource[T]) -> T:
    """Items of a list carry no kind of their own; every object that leaves this module does."""
    if obj.kind != res.kind:
        msgspec.structs.force_setattr(obj, "kind", res.kind)
    if obj.api_version != res.api_version:
        msgspec.structs.force_setattr(obj, "api_version", res.api_version)
    return obj


def _culprit(raw: bytes | msgspec.Raw, res: Resource[Any], error: msgspec.MsgspecError) -> DecodeError:
    message, _, path = str(error).partition(" - at `")
    try:
        meta = msgspec.json.decode(raw, type=_Identity).metadata
    except msgspec.MsgspecError:
        meta = ObjectMeta()
    key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
    return DecodeError(
        f"{res.kind} {key or 'without a readable name'} cannot be understood: {message}",
        key=key,
        subject=subject(res, meta.name, meta.namespace),
        path=path.rstrip("`"),
    )


@functools.cache
def _object_decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(type_)


@functools.cache
def _page_decoder(type_: type[T]) -> msgspec.json.Decoder[Page[T]]:
    return msgspec.json.Decoder(Page[type_])  # type: ignore[valid-type]
