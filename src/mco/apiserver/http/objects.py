"""Get, create, update, patch, delete, deletecollection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import yaml

from mco.apiserver import errors
from mco.apiserver.auth import restriction
from mco.apiserver.core import Core
from mco.apiserver.http import protobuf, show
from mco.apiserver.http.lists import Listing
from mco.apiserver.http.options import dry_run, form_of, number, selection_of
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import JSON, Answer, encode
from mco.apiserver.registry.served import Served
from mco.apiserver.strategies.strategy import Writer
from mco.apiserver.writes import patches
from mco.apiserver.writes.writes import Options, Preconditions
from mco.base.errors import InvalidInput

Obj = dict[str, Any]

YAML = "application/yaml"


def get_object(core: Core, served: Served, request: Request) -> Answer:
    form = form_of(request)
    wanted, current = number(request, "resourceVersion"), core.store.current()
    if wanted > current:
        raise errors.too_new(wanted, current)
    revision = core.writes.read(served, request.target.namespace, request.target.name)
    return Answer(body=show.one(served, revision.data, form, core.now()))


async def create_object(core: Core, served: Served, request: Request) -> Answer:
    body = await decode_body(request)
    dropped = _prune(served, body, request)
    data = await core.writes.create(served, request.target.namespace, body, write_options(core, request))
    return _answer(core, served, request, data, status=201, dropped=dropped)


async def update_object(core: Core, served: Served, request: Request) -> Answer:
    target = request.target
    body = await decode_body(request)
    dropped = _prune(served, body, request)
    options = write_options(core, request)

    def change(_old: Obj) -> Any:
        given = isinstance(body, dict) and (body.get("metadata") or {}).get("resourceVersion")
        if not given and not served.strategy.unconditional:
            cause = errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(served.kind, served.group, target.name, [cause])
        return body

    data = await core.writes.update(
        served, target.namespace, target.name, change, options, target.subresource
    )
    return _answer(core, served, request, data, dropped=dropped)


async def patch_object(core: Core, served: Served, request: Request) -> Answer:
    target, kind = request.target, request.content_type
    patch = patches.decode(served, kind, await request.body())
    dropped: list[str] = []

    def change(old: Obj) -> Any:
        new = patches.apply(kind, patch, old)
        dropped[:] = _prune(served, new, request)
        return new

    options = write_options(core, request)
    data = await core.writes.update(
        served, target.namespace, target.name, change, options, target.subresource
    )
    return _answer(core, served, request, data, dropped=dropped)


class DeleteOptions(msgspec.Struct, rename="camel"):
    preconditions: dict[str, str] | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None
    grace_period_seconds: int | None = None
    orphan_dependents: bool | None = None

    @classmethod
    def of(cls, value: Any) -> DeleteOptions:
        """Raises StatusError 400 for something else."""
        try:
            asked = msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise errors.bad_request(f"the delete options cannot be decoded: {error}") from error
        if asked.orphan_dependents is not None and asked.propagation_policy is None:
            asked.propagation_policy = "Orphan" if asked.orphan_dependents else "Background"
        if asked.propagation_policy not in (None, "", "Background", "Foreground", "Orphan"):
            raise errors.bad_request(f"invalid propagationPolicy: {asked.propagation_policy}")
        return asked


async def delete_object(core: Core, served: Served, request: Request) -> Answer:
    target = request.target
    asked = await _delete_options(request)
    options = write_options(core, request, asked)
    wanted = asked.preconditions or {}
    data, gone = await core.deletions.delete(
        served,
        target.namespace,
        target.name,
        options,
        Preconditions(wanted.get("uid", ""), wanted.get("resourceVersion", "")),
        asked.propagation_policy or "",
    )
    if not gone:
        return _answer(core, served, request, data)
    details: Obj = {"name": target.name, "kind": served.plural, "uid": _uid(data)}
    if served.group:
        details["group"] = served.group
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return encode(status)


async def delete_collection(core: Core, served: Served, request: Request) -> Answer:
    asked = await _delete_options(request)
    options = write_options(core, request, asked)
    form, now = form_of(request), core.now()
    listing = Listing(core=core, served=served, selection=selection_of(request, served))
    names = [item.key for page in listing.pages() for item in page]
    deleted: list[bytes] = []
    for key in names:
        try:
            data, _ = await core.deletions.delete(
                served, key.namespace, key.name, options, policy=asked.propagation_policy or ""
            )
        except errors.StatusError as error:
            if error.code != 404:
                raise
        else:
            deleted.append(show.list_item(served, data, form, now))
    parts = (show.list_begin(served, form), b",".join(deleted), show.list_end(listing.metadata()))
    return Answer(body=b"".join(parts))


async def decode_body(request: Request) -> Any:
    """The body as builtins. Raises StatusError 400, 413, 415."""
    kind = request.content_type or JSON
    decode = _DECODERS.get(kind)
    if decode is None:
        raise errors.unsupported_media_type(tuple(_DECODERS))
    body = await request.body()
    try:
        value = decode(body)
    except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError, RecursionError, InvalidInput) as error:
        raise errors.bad_request(f"the body of the request cannot be decoded: {error}") from error
    if kind == protobuf.MEDIA_TYPE and value is None:
        raise errors.unsupported_media_type((JSON, YAML))
    return value


_DECODERS: dict[str, Callable[[bytes], Any]] = {
    JSON: msgspec.json.decode,
    YAML: yaml.safe_load,
    protobuf.MEDIA_TYPE: protobuf.decode,
}


def _prune(served: Served, body: Any, request: Request) -> list[str]:
    """Removes unknown fields; with `fieldValidation=Strict` they are an error instead."""
    if not isinstance(body, dict):
        return []
    dropped = served.strategy.prune(body)
    if dropped and request.query.get("fieldValidation") == "Strict":
        listed = ", ".join(f'unknown field "{path}"' for path in dropped)
        raise errors.bad_request(
            f"{served.kind} in version {errors.value_text(served.version)[1:-1]} cannot be handled as a "
            f"{served.kind}: strict decoding error: {listed}"
        )
    return dropped if request.query.get("fieldValidation") != "Ignore" else []


def write_options(core: Core, request: Request, asked: DeleteOptions | None = None) -> Options:
    user = request.user
    writer = Writer(user.name, tuple(sorted(user.groups)), core.now())

    def admit(served: Served, new: Obj, old: Obj | None) -> None:
        restriction.check(user, served, new, old)

    return Options(writer, dry_run(request, asked.dry_run if asked else None), admit)


async def _delete_options(request: Request) -> DeleteOptions:
    """From the body, where there is one, and from the query."""
    value = await decode_body(request) if await request.has_body() else {}
    if policy := request.query.get("propagationPolicy"):
        value = {**value, "propagationPolicy": policy}
    return DeleteOptions.of(value)


def _answer(
    core: Core,
    served: Served,
    request: Request,
    data: bytes,
    *,
    status: int = 200,
    dropped: list[str] | None = None,
) -> Answer:
    warnings = tuple((b"warning", f'299 - "unknown field \\"{path}\\""'.encode()) for path in dropped or ())
    body = show.one(served, data, form_of(request), core.now())
    return Answer(status=status, body=body, headers=warnings)


def _uid(data: bytes) -> str:
    return str(msgspec.json.decode(data)["metadata"]["uid"])
