"""Says how the installation is: on the ClusterOperator where that kind is served, and on our own
MachineConfiguration everywhere (spec/operator.md 1.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mco.api import names
from mco.api.meta.conditions import Condition
from mco.api.meta.objects import ObjectReference
from mco.api.resources import MACHINE_CONFIGURATIONS
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists
from mco.kube.events import EventSink
from mco.kube.wholes import NoSuchKind, Wholes
from mco.payload.ensure import difference
from mco.plan.installation import conditions, related
from mco.plan.installation.conditions import Standing
from mco.runtime.clock import Clock, rfc3339

CLUSTER_OPERATOR = "machine-config"
_BODY = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "ClusterOperator",
    "metadata": {"name": CLUSTER_OPERATOR},
    "spec": {},
}
_MACHINE_CONFIGURATION = {
    "apiVersion": MACHINE_CONFIGURATIONS.api_version,
    "kind": MACHINE_CONFIGURATIONS.kind,
    "metadata": {"name": names.MACHINE_CONFIGURATION},
}
_VERSIONS = f"{names.GROUP}/operator-versions"
_ONLY_CLUSTER_OPERATOR = (conditions.EVALUATION,)
"""Its reasons are sentences, which the other object's schema refuses."""


class Report:
    """`versions` are this operator's own. What was said last is read from the cluster once a pass."""

    def __init__(
        self, client: Client, wholes: Wholes, events: EventSink, versions: Mapping[str, str], clock: Clock
    ) -> None:
        self._client = client
        self._wholes = wholes
        self._events = events
        self._versions = versions
        self._clock = clock
        self._first = True

    async def begin(self, *, bring_up: bool) -> Standing:
        """Says what is about to happen; returns what was said before."""
        old = await self._said()
        new = conditions.begin(old, self._versions, bring_up, rfc3339(self._clock.now()))
        await self._write(old, new, None)
        return new

    async def finish(
        self,
        old: Standing,
        found: conditions.Pass,
        extension: Mapping[str, str],
        also: Sequence[Condition],
    ) -> Standing:
        """`extension` goes to the ClusterOperator, `also` to the MachineConfiguration."""
        new = conditions.decide(old, found, rfc3339(self._clock.now()))
        await self._write(old, new, extension)
        await self._write_own(new, also)
        changes = conditions.version_changes(old, new, self._versions, found.bring_up, first=self._first)
        self._first = False
        for type_, reason, message in (*changes, *conditions.announcements(old, new)):
            self._events.event(self._about, type_, reason, message)
        return new

    @property
    def _about(self) -> ObjectReference:
        return ObjectReference(
            kind="ClusterOperator", api_version="config.openshift.io/v1", name=CLUSTER_OPERATOR
        )

    async def _said(self) -> Standing:
        try:
            found = await self._wholes.get(_BODY)
        except NoSuchKind:
            return await self._said_by_own()
        if found is None:
            return await self._introduce()
        return _standing(found)

    async def _introduce(self) -> Standing:
        try:
            found = await self._wholes.create(_BODY)
        except AlreadyExists:
            return _standing(await self._wholes.get(_BODY) or {})
        initial = conditions.initial(self._versions, rfc3339(self._clock.now()))
        await self._patch(_BODY, _status(found, initial, None))
        return initial

    async def _said_by_own(self) -> Standing:
        found = await self._wholes.get(_MACHINE_CONFIGURATION)
        if found is None:
            return conditions.initial(self._versions, rfc3339(self._clock.now()))
        text = (found["metadata"].get("annotations") or {}).get(_VERSIONS)
        versions = msgspec.json.decode(text, type=dict[str, str]) if text else {}
        return Standing(conditions=_conditions(found), versions=versions)

    async def _write(self, old: Standing, new: Standing, extension: Mapping[str, str] | None) -> None:
        try:
            found = await self._wholes.get(_BODY)
        except NoSuchKind:
            await self._remember(old, new)
            return
        if found is None:
            return
        if changes := _status(found, new, extension):
            await self._patch(_BODY, changes)

    async def _remember(self, old: Standing, new: Standing) -> None:
        if old.versions == new.versions:
            return
        found = await self._wholes.get(_MACHINE_CONFIGURATION)
        if found is None:
            return
        text = msgspec.json.encode(dict(new.versions)).decode()
        version = found["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version, "annotations": {_VERSIONS: text}}}
        await self._wholes.patch(_MACHINE_CONFIGURATION, body)

    async def _write_own(self, new: Standing, also: Sequence[Condition]) -> None:
        found = await self._wholes.get(_MACHINE_CONFIGURATION)
        if found is None:
            return
        listed = (found.get("status") or {}).get("conditions") or []
        wanted = [c for c in new.conditions if c.type not in _ONLY_CLUSTER_OPERATOR]
        made = {entry["type"]: entry for entry in listed}
        for condition in (*wanted, *also):
            entry = _strict(condition, made.get(condition.type), rfc3339(self._clock.now()))
            made[condition.type] = entry
        if list(made.values()) != listed:
            version = found["metadata"]["resourceVersion"]
            body = {"metadata": {"resourceVersion": version}, "status": {"conditions": list(made.values())}}
            await self._patch(_MACHINE_CONFIGURATION, body)

    async def _patch(self, body: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        resource = await self._wholes.resource(body)
        await self._client.patch(resource, body["metadata"]["name"], changes, subresource="status")


def _standing(found: Mapping[str, Any]) -> Standing:
    versions = (found.get("status") or {}).get("versions") or ()
    return Standing(
        conditions=_conditions(found),
        versions={entry["name"]: entry.get("version", "") for entry in versions},
    )


def _conditions(found: Mapping[str, Any]) -> tuple[Condition, ...]:
    said = (found.get("status") or {}).get("conditions") or ()
    return msgspec.convert(said, tuple[Condition, ...])


def _status(found: Mapping[str, Any], new: Standing, extension: Mapping[str, str] | None) -> dict[str, Any]:
    """The merge patch of the ClusterOperator's status; empty when it says that already. Without `extension`
    that stays as it is."""
    have = found.get("status") or {}
    wanted: dict[str, Any] = {
        "conditions": [msgspec.to_builtins(condition) for condition in new.conditions],
        "relatedObjects": related.objects(),
        "versions": [{"name": name, "version": new.versions[name]} for name in sorted(new.versions)],
    }
    if extension is not None:
        wanted["extension"] = dict(extension)
    known = {key: have.get(key) for key in wanted} | {"conditions": _as_written(found)}
    if known == wanted:
        return {}
    changes = {key: difference(known[key], wanted[key]) for key in wanted if known[key] != wanted[key]}
    return {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "status": changes}


def _as_written(found: Mapping[str, Any]) -> list[Any]:
    """Empty texts may be left out by whoever wrote them."""
    return [msgspec.to_builtins(condition) for condition in _conditions(found)]


def _strict(condition: Condition, old: dict[str, Any] | None, now: str) -> dict[str, Any]:
    """The condition as its newer schema wants it: with a reason, and a time."""
    entry: dict[str, Any] = msgspec.to_builtins(condition) | {
        "reason": condition.reason or conditions.AS_EXPECTED
    }
    same = ("status", "reason", "message")
    if old and all(old.get(key) == entry[key] for key in same):
        return old
    if old and old.get("status") == entry["status"]:
        return entry | {"lastTransitionTime": old["lastTransitionTime"]}
    return entry | {"lastTransitionTime": condition.last_transition_time or now}
