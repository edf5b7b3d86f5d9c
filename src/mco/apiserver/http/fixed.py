"""Paths that are no resource: health, version."""

from __future__ import annotations

import platform

from mco.apiserver.core import Core
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import Answer, encode

EMULATED = ("1", "36", "v1.36.0")
"""The Kubernetes version that clients adapt to."""
HEALTH = ("/healthz", "/livez", "/readyz")


def answer(core: Core, request: Request) -> Answer | None:
    path = request.target.path.rstrip("/")
    if path in HEALTH:
        core.store.current()
        return Answer(body=b"ok", content_type="text/plain; charset=utf-8")
    if path == "/version":
        return encode(version())
    return None


def version() -> dict[str, str]:
    major, minor, text = EMULATED
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"{text}+mco",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"linux/{platform.machine()}",
    }
