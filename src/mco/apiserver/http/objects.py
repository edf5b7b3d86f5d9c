"""Get, create, update, patch, delete, deletecollection."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.admission.policies import review_of
from mco.apiserver.auth import restriction
from mco.apiserver.auth.authorize import answer, check_grant
from mco.apiserver.core import Core
from mco.apiserver.http import show
from mco.apiserver.http.bodies import check_kind, decode_body, prune, repeated
from mco.apiserver.http.checks import check_delete, check_write
from mco.apiserver.http.lists import Listing
from mco.apiserver.http.options import form_of, number, selection_of
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import Answer
from mco.apiserver.registry.served import Served
from mco.apiserver.strategies.strategy import Writer
from mco.apiserver.writes import patches
from mco.apiserver.writes.deletion import Deletion, Preconditions
from mco.apiserver.writes.writes import Options

Obj = dict[str, Any]


def get_object(core: Core, served: Served, request: Request) -> Answer:
    form = form_of(request)
    wanted, current = number(request, "resourceVersion"), core.store.current()
    if wanted > current:
        raise errors.too_new(wanted, current)
    revision = core.writes.read(served, request.target.namespace, request.target.name)
    return Answer(body=show.one(served, revision.data, form, core.now()))


async def create_object(core: Core, served: Served, request: Request) -> Answer:
    options = write_options(core, request)
    body = await decode_body(request)
    await check_kind(served, body, request)
    dropped = prune(served, body, request, await repeated(request))
    data = await core.writes.create(served, request.target.namespace, body, options)
    return _answer(core, served, request, data, status=201, warnings=[*dropped, *options.warnings])


async def update_object(core: Core, served: Served, request: Request) -> Answer:
    target = request.target
    options = write_options(core, request)
    body = await decode_body(request)
    await check_kind(served, body, request)
    dropped = prune(served, body, request, await repeated(request))

    def change(_old: Obj) -> Any:
        given = isinstance(body, dict) and (body.get("metadata") or {}).get("resourceVersion")
        if not given and not served.strategy.unconditional:
            cause = errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(served.kind, served.group, target.name, [cause])
        return body

    data = await core.writes.update(
        served, target.namespace, target.name, change, options, target.subresource
    )
    return _answer(core, served, request, data, warnings=[*dropped, *options.warnings])


async def patch_object(core: Core, served: Served, request: Request) -> Answer:
    target, kind = request.target, request.content_type
    options = write_options(core, request)
    patch = patches.decode(served, kind, await request.body())
    dropped: list[str] = []

    def change(old: Obj) -> Any:
        new = patches.apply(kind, patch, old)
        dropped[:] = prune(served, new, request, [])
        _check_uid(served, new, old)
        return new

    data = await core.writes.update(
        served, target.namespace, target.name, change, options, target.subresource
    )
    return _answer(core, served, request, data, warnings=[*dropped, *options.warnings])


class DeleteOptions(msgspec.Struct, rename="camel"):
    preconditions: dict[str, str] | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None
    grace_period_seconds: int | None = None
    orphan_dependents: bool | None = None

    @classmethod
    def of(cls, value: Any) -> DeleteOptions:
        """Raises StatusError 400 for something else, 422 for options that nobody knows."""
        try:
            asked = msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise errors.bad_request(f"the delete options cannot be decoded: {error}") from error
        check_delete(asked.propagation_policy, asked.orphan_dependents, asked.dry_run or [])
        if asked.orphan_dependents is not None:
            asked.propagation_policy = "Orphan" if asked.orphan_dependents else "Background"
        return asked

    def deletion(self) -> Deletion:
        wanted = self.preconditions or {}
        return Deletion(
            preconditions=Preconditions(wanted.get("uid", ""), wanted.get("resourceVersion", "")),
            grace=self.grace_period_seconds,
        )


async def delete_object(core: Core, served: Served, request: Request) -> Answer:
    target = request.target
    asked = await _delete_options(request)
    options = write_options(core, request, asked)
    data, gone = await core.deletions.delete(
        served, target.namespace, target.name, options, asked.deletion(), asked.propagation_policy or ""
    )
    if not gone or served.strategy.shows_deleted:
        return _answer(core, served, request, data, warnings=options.warnings)
    details: Obj = {"name": target.name, "kind": served.plural, "uid": _uid(data)}
    if served.group:
        details["group"] = served.group
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Answer(body=msgspec.json.encode(status), headers=_warnings(options.warnings))


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
                served, key.namespace, key.name, options, asked.deletion(), asked.propagation_policy or ""
            )
        except errors.StatusError as error:
            if error.code != 404:
                raise
        else:
            deleted.append(show.list_item(served, data, form, now))
    parts = (show.list_begin(served, form), b",".join(deleted), show.list_end(listing.metadata()))
    return Answer(body=b"".join(parts))


def write_options(core: Core, request: Request, asked: DeleteOptions | None = None) -> Options:
    user, target = request.user, request.target
    writer = Writer(user.name, tuple(sorted(user.groups)), core.now())
    is_dry = check_write(request) or bool(asked and asked.dry_run)
    warnings: list[str] = []

    def admit(served: Served, new: Obj | None, old: Obj | None) -> None:
        if new is not None:
            restriction.check(user, served, new, old)
            if old is None or new != old:
                check_grant(user, served, new, core.roles)
        if not core.policies.in_force:
            return
        subresource = target.subresource if new is not None else ""
        review = review_of(core.store, served, new, old, subresource=subresource, writer=writer)
        extra = {name: list(values) for name, values in user.extra}
        review = msgspec.structs.replace(review, dry_run=is_dry, extra=extra)
        warnings.extend(core.policies.check(review, functools.partial(answer, core.roles, user)))

    return Options(writer, is_dry, admit, warnings)


async def _delete_options(request: Request) -> DeleteOptions:
    """From the body, where there is one, and from the query."""
    value = await decode_body(request) if await request.has_body() else {}
    if policy := request.query.get("propagationPolicy"):
        value = {**value, "propagationPolicy": policy}
    if request.query.get("gracePeriodSeconds"):
        value = {**value, "gracePeriodSeconds": number(request, "gracePeriodSeconds")}
    return DeleteOptions.of(value)


def _answer(
    core: Core,
    served: Served,
    request: Request,
    data: bytes,
    *,
    status: int = 200,
    warnings: Sequence[str] = (),
) -> Answer:
    body = show.one(served, data, form_of(request), core.now())
    return Answer(status=status, body=body, headers=_warnings(warnings))


def _warnings(texts: Sequence[str]) -> tuple[tuple[bytes, bytes], ...]:
    escaped = (text.replace('"', '\\"') for text in dict.fromkeys(texts))
    return tuple((b"warning", f'299 - "{text}"'.encode()) for text in escaped)


def _check_uid(served: Served, new: Any, old: Obj) -> None:
    """A patch cannot make another object of it; a PUT that means another one is refused with a conflict."""
    sent = (new.get("metadata") or {}) if isinstance(new, dict) else {}
    uid = sent.get("uid") if isinstance(sent, dict) else None
    if uid and uid != old["metadata"]["uid"]:
        cause = errors.invalid_value("metadata.uid", uid, "field is immutable")
        raise errors.invalid(served.kind, served.group, old["metadata"]["name"], [cause])


def _uid(data: bytes) -> str:
    return str(msgspec.json.decode(data)["metadata"]["uid"])
