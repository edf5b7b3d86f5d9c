"""What becomes of an object that somebody deletes: it goes, or it waits for those who must act first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.registry.served import Served
from mco.apiserver.writes import metadata as meta

Obj = dict[str, Any]


class Preconditions(msgspec.Struct, frozen=True):
    """What must hold for a deletion; empty ones do not matter."""

    uid: str = ""
    resource_version: str = ""


def _as_it_is(obj: Obj) -> Obj:
    return obj


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. `finalizer` is added first: whoever must act before the object goes. `grace` is in
    seconds, None: what the object says itself. `last_words` changes the state that is seen last."""

    preconditions: Preconditions = Preconditions()
    finalizer: str = ""
    grace: int | None = None
    last_words: Callable[[Obj], Obj] = _as_it_is


def deleted(served: Served, old: Obj, asked: Deletion, now: datetime) -> tuple[Obj, bool]:
    """The object's last state, or the one in which it waits, and whether it goes now.

    A grace that has begun can only be shortened."""
    metadata, strategy = dict(old["metadata"]), served.strategy
    pending = metadata.get("deletionGracePeriodSeconds") if "deletionTimestamp" in metadata else None
    if pending and (asked.grace is None or asked.grace >= pending):
        return old, False
    grace = pending
    if pending is None:
        grace = strategy.grace(old, asked.grace)
        metadata["deletionTimestamp"] = meta.timestamp(now + timedelta(seconds=grace or 0))
        if strategy.counts:
            metadata["generation"] = metadata.get("generation", 1) + 1
    elif pending:
        grace = _shorten(metadata, asked.grace or 0, now)
    finalizers = list(dict.fromkeys((*metadata.get("finalizers", ()), *filter(None, (asked.finalizer,)))))
    if not finalizers and not grace and not strategy.held(old):
        return asked.last_words(old if grace is None else _marked(old, metadata, 0)), True
    if finalizers:
        metadata["finalizers"] = finalizers
    new = asked.last_words(_marked(old, metadata, grace or 0))
    strategy.mark(new)
    return new, False


def is_kept(served: Served, obj: Obj) -> bool:
    """Whether something keeps an object that was deleted."""
    metadata = obj["metadata"]
    return bool(
        metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds") or served.strategy.held(obj)
    )


def check_preconditions(served: Served, old: Obj, wanted: Preconditions) -> None:
    """Raises StatusError 409."""
    uid, version = old["metadata"]["uid"], old["metadata"]["resourceVersion"]
    if wanted.uid and wanted.uid != uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
    elif wanted.resource_version and wanted.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the "
            f"ResourceVersion in record ({version}). The object might have been modified"
        )
    else:
        return
    # The real server puts the kind where other conflicts have the resource.
    raise errors.conflict(served.kind, served.group, old["metadata"]["name"], why)


def _shorten(metadata: Obj, grace: int, now: datetime) -> int:
    """Moves the time of the deletion, never into the past; the grace that is left to say."""
    asked_at = datetime.fromisoformat(metadata["deletionTimestamp"]).astimezone(UTC)
    asked_at -= timedelta(seconds=metadata["deletionGracePeriodSeconds"])
    end = asked_at + timedelta(seconds=grace)
    metadata["deletionTimestamp"] = meta.timestamp(max(end, now))
    return grace if end >= now else min(grace, 1)


def _marked(old: Obj, metadata: Obj, grace: int) -> Obj:
    return {**old, "metadata": {**metadata, "deletionGracePeriodSeconds": grace}}
