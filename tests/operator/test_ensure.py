"""What the operator writes holds only for what it has seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mco.api.resources import NAMESPACES
from mco.kube.client import Client
from mco.kube.errors import ConflictError
from mco.operator import ensure


def body(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "ours", "labels": labels}}


async def labels(api: Client) -> Mapping[str, str]:
    return (await api.get(NAMESPACES, "ours")).metadata.labels or {}


async def test_what_has_changed_since_is_not_written_over(api: Client) -> None:
    found = await ensure.exists(api, NAMESPACES, body(version="old"))
    await api.patch(NAMESPACES, "ours", body(version="new"))
    with pytest.raises(ConflictError):
        await ensure.patched(api, NAMESPACES, found, body(version="old"))
    assert (await labels(api))["version"] == "new"


async def test_who_is_overtaken_decides_again_on_what_is_there_then(api: Client) -> None:
    await ensure.exists(api, NAMESPACES, body())
    seen: list[str] = []

    async def attempt() -> None:
        found = await api.get(NAMESPACES, "ours")
        seen.append((found.metadata.labels or {}).get("theirs", ""))
        if len(seen) < 3:
            await api.patch(NAMESPACES, "ours", body(theirs=str(len(seen))))
        await ensure.patched(api, NAMESPACES, found, body(ours=seen[-1]))

    await ensure.decided(attempt)
    assert seen == ["", "1", "2"]
    assert (await labels(api))["ours"] == "2"


async def test_who_is_always_overtaken_gives_up(api: Client) -> None:
    stale = await ensure.exists(api, NAMESPACES, body())
    await api.patch(NAMESPACES, "ours", body(version="new"))
    attempts = 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        await ensure.patched(api, NAMESPACES, stale, body(version="old"))

    with pytest.raises(ConflictError):
        await ensure.decided(attempt)
    assert 1 < attempts < 10
