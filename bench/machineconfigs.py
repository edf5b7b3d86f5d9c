"""Made-up MachineConfigs of a given size, the same on every machine and in every language.

Each has three files with distinct contents, one enabled unit, and, every tenth, a kernel argument. Contents
come from a stream of SHA-256 digests: block i of stream s is sha256("<seed>/<s>/<i>").
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from mco.api import names

SIZE = 10_240
"""Bytes of one MachineConfig as YAML, about."""

CONTROLLER_CONFIG = f"""apiVersion: {names.API_VERSION}
kind: ControllerConfig
metadata:
  name: {names.CONTROLLER_CONFIG}
spec:
  baseOSContainerImage: "quay.io/bench/os@sha256:{"1" * 64}"
  baseOSExtensionsContainerImage: "quay.io/bench/ext@sha256:{"2" * 64}"
"""


def machine_config(
    number: int, *, changed: bool = False, size: int = SIZE, seed: str = "1"
) -> dict[str, Any]:
    """One MachineConfig; `changed` gives its second file other bytes of the same length."""
    return _build(number, _content_length(size), changed=changed, seed=seed)


def as_yaml(config: dict[str, Any]) -> bytes:
    """Block style with quoted strings, as people and generators write it."""
    return ("\n".join(_lines(config, 0)) + "\n").encode()


def _content_length(size: int) -> int:
    empty = len(as_yaml(_build(1, 0, changed=False, seed="1")))
    return (size - empty) // 3 // 4 * 3  # base64 makes four characters of three bytes


def _stream(name: str, length: int) -> bytes:
    blocks = (hashlib.sha256(f"{name}/{i}".encode()).digest() for i in range(length // 32 + 1))
    return b"".join(blocks)[:length]


def _build(number: int, length: int, *, changed: bool, seed: str) -> dict[str, Any]:
    files = []
    for k in range(3):
        suffix = "/changed" if changed and k == 1 else ""
        data = base64.b64encode(_stream(f"{seed}/mc{number}/file{k}{suffix}", length)).decode()
        source = f"data:text/plain;charset=utf-8;base64,{data}"
        overwrite = {"overwrite": True} if k == 0 else {}
        path = f"/etc/bench/{number:05d}/file-{k}"
        files.append({"path": path, "mode": 420, "contents": {"source": source}, **overwrite})
    unit = {"name": f"bench-{number:05d}.service", "enabled": True, "contents": _unit(number)}
    config = {"ignition": {"version": "3.5.0"}, "storage": {"files": files}, "systemd": {"units": [unit]}}
    arguments = {"kernelArguments": [f"bench.arg={number}"]} if number % 10 == 0 else {}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": f"50-bench-{number:05d}", "labels": {names.ROLE_LABEL: names.WORKER}},
        "spec": {"config": config, **arguments},
    }


def _unit(number: int) -> str:
    return (
        f"[Unit]\nDescription=Bench unit {number:05d}\nAfter=network-online.target\n\n"
        f"[Service]\nType=oneshot\nExecStart=/usr/bin/true --index={number}\nRemainAfterExit=yes\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


def _lines(value: dict[str, Any], indent: int) -> Iterator[str]:
    pad = " " * indent
    for key, item in value.items():
        name = json.dumps(key) if "/" in key else key
        if isinstance(item, dict):
            yield f"{pad}{name}:"
            yield from _lines(item, indent + 2)
        elif isinstance(item, list):
            yield f"{pad}{name}:"
            for element in item:
                yield from _element(element, indent)
        elif isinstance(item, str) and "\n" in item:
            yield f"{pad}{name}: |"
            yield from (f"{pad}  {line}" if line else "" for line in item.rstrip("\n").split("\n"))
        else:
            yield f"{pad}{name}: {json.dumps(item)}"


def _element(element: Any, indent: int) -> Iterator[str]:
    pad = " " * indent
    if not isinstance(element, dict):
        yield f"{pad}  - {json.dumps(element)}"
        return
    first, *rest = _lines(element, indent + 4)
    yield f"{pad}  - {first.lstrip()}"
    yield from rest
