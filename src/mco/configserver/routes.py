"""The request line to what is asked for (spec/operator.md 3.2 and 9: exact `/config/<pool>` only)."""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

import msgspec

READ_METHODS = ("GET", "HEAD")
_PREFIX = "/config/"


class Config(msgspec.Struct, frozen=True):
    """A pool's config is asked for."""

    pool: str


class Plain(msgspec.Struct, frozen=True):
    """An answer without a body; `location` for a redirect."""

    status: int
    location: str = ""


def resolve(method: str, target: str) -> Config | Plain:
    """What a request asks for. `target` is the request target as it was sent.

    A path that is not in its shortest form is redirected to it whatever the method, as the original's router
    does, and so is `/config`."""
    raw_path, question, query = _origin_form(target).partition("?")
    try:
        path = unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        return Plain(400)
    canonical = _canonical(path)
    if canonical != path or path == "/config":
        location = _PREFIX if canonical == "/config" else canonical
        return Plain(307, quote(location) + question + query)
    if path == "/healthz":
        return Plain(200 if method in READ_METHODS else 405)
    if method not in READ_METHODS:
        return Plain(405)
    pool = path.removeprefix(_PREFIX)
    if not path.startswith(_PREFIX) or not pool or "/" in pool:
        return Plain(404)
    return Config(pool)


def _origin_form(target: str) -> str:
    """`target` without scheme and host, which a client may send too (RFC 9112, 3.2.2)."""
    if target.startswith("/"):
        return target
    _, scheme, rest = target.partition("://")
    slash = rest.find("/")
    return rest[slash:] if scheme and slash >= 0 else "/"


def _canonical(path: str) -> str:
    """`path` without empty, `.` and `..` segments; a final slash stays."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    ends_open = segments[-1] == "" and bool(kept)
    return "/" + "/".join(kept) + ("/" if ends_open else "")
