"""Targets for tables: a config in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mco.ignition.dataurl import encode_percent
from mco.plan.node.target import Target, target
from tests.daemon.builders import config, typed


def make(
    name: str = "new",
    *,
    files: Mapping[str, str] | Sequence[Mapping[str, Any]] = (),
    units: Sequence[Mapping[str, Any]] = (),
    ignition: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Target:
    """`files` as path to text, or as Ignition's list; `ignition` is merged over the document."""
    listed = [plain(path, text) for path, text in files.items()] if isinstance(files, Mapping) else files
    return target(typed(config(name, files=listed, units=units, ignition=ignition, **spec)))


def plain(path: str, text: str = "") -> dict[str, Any]:
    return {"path": path, "contents": {"source": encode_percent(text.encode())}}


def users(*listed: Mapping[str, Any]) -> dict[str, Any]:
    return {"passwd": {"users": list(listed)}}


CORE = {"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA one"]}
