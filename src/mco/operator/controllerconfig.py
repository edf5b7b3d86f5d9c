"""The ControllerConfig: what the cluster says, in one object (spec/operator.md 1.6, 1.7, 1.11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from mco.api import controllerconfig as cc
from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.api.resources import CONTROLLER_CONFIGS
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists
from mco.kube.requests import PatchKind
from mco.kube.wholes import Wholes
from mco.operator import ensure
from mco.payload.ensure import merged
from mco.runtime.clock import Clock, rfc3339

_KEPT_UNLESS_NAMED = ("infra", "dns", "pullSecret")
"""Objects that nothing removes once they are there."""


class Writer:
    def __init__(self, client: Client, wholes: Wholes, clock: Clock) -> None:
        self._client = client
        self._wholes = wholes
        self._clock = clock

    async def write(self, body: Mapping[str, Any]) -> None:
        """Brings the object to `body` and marks it completed; writes nothing when it is."""
        found = await self._wholes.get(body)
        if found is None:
            with suppress(AlreadyExists):
                await self._client.create(CONTROLLER_CONFIGS, body)
            found = await self._wholes.get(body) or dict(body)
        changes = differences(body, found)
        if changes:
            path = names.CONTROLLER_CONFIG
            config = await self._client.patch(CONTROLLER_CONFIGS, path, changes, kind=PatchKind.JSON)
        else:
            config = msgspec.convert(found, ControllerConfig)
        await self._complete(config)

    async def _complete(self, config: ControllerConfig) -> None:
        """Without a template controller nothing is generated from it, so it is completed as soon as it is
        there (design.md 10)."""
        text = f"sync completed towards ({config.metadata.generation}) generation using controller version "
        version = config.metadata.annotation(names.GENERATED_BY_VERSION) or ""
        conditions = config.status.conditions
        for new in (
            Condition(type=cc.TEMPLATE_CONTROLLER_COMPLETED, status=cond.TRUE, message=text + version),
            Condition(type=cc.TEMPLATE_CONTROLLER_RUNNING, status=cond.FALSE),
            Condition(type=cc.TEMPLATE_CONTROLLER_FAILING, status=cond.FALSE),
        ):
            conditions = cond.set_condition(conditions, new, rfc3339(self._clock.now()))
        observed = config.status.observed_generation
        if conditions == config.status.conditions and observed == config.metadata.generation:
            return
        status: Mapping[str, Any] = {
            "observedGeneration": config.metadata.generation,
            "conditions": [msgspec.to_builtins(condition) for condition in conditions],
        }
        changes = {"status": status}
        await ensure.patched(self._client, CONTROLLER_CONFIGS, config, changes, subresource="status")


def differences(body: Mapping[str, Any], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A JSON patch, tied to the version that was looked at: only it can say that a field, which has to be
    there, is null. Empty when nothing differs."""
    have = found.get("spec") or {}
    changes = [
        {"op": "add", "path": f"/spec/{name}", "value": value}
        for name, wanted in body["spec"].items()
        if (value := _made(name, wanted, have.get(name))) != have.get(name)
    ]
    metadata = found["metadata"]
    changes += _annotations(body["metadata"].get("annotations") or {}, metadata.get("annotations"))
    version = {"op": "add", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")}
    return [version, *changes] if changes else []


def _made(name: str, wanted: Any, have: Any) -> Any:
    """What a field becomes. Text that nobody knows stays what it was; images are added to; an object is
    replaced when it differs by more than what the server adds to it."""
    if (wanted == "" and isinstance(have, str)) or (wanted is None and name in _KEPT_UNLESS_NAMED):
        return have
    if name == "images":
        return {**(have or {}), **wanted}
    if isinstance(wanted, Mapping) and isinstance(have, Mapping):
        return have if merged(wanted, have) == have else wanted
    return wanted


def _annotations(wanted: Mapping[str, str], have: Mapping[str, str] | None) -> Sequence[dict[str, Any]]:
    if have is None:
        return [{"op": "add", "path": "/metadata/annotations", "value": dict(wanted)}] if wanted else []
    return [
        {"op": "add", "path": f"/metadata/annotations/{key.replace('/', '~1')}", "value": value}
        for key, value in wanted.items()
        if have.get(key) != value
    ]
