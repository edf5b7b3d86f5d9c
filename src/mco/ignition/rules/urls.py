"""URLs as Go's `net/url` parses them, as far as validity, scheme and query matter."""

from __future__ import annotations

import re
from typing import NamedTuple

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_HOST = re.compile(r"""(?:[A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>"\x80-\U0010ffff]|%25|%[89A-Fa-f][0-9A-Fa-f])*""")
_PORT = re.compile(r"(?::[0-9]*)?", re.ASCII)


class URL(NamedTuple):
    """`opaque` is what follows the scheme when no slash does."""

    scheme: str
    opaque: str
    query: str


def parse(text: str) -> URL | None:
    """None where Go's parser returns an error."""
    if _CONTROL.search(text):
        return None
    text, _, fragment = text.partition("#")
    if _BAD_ESCAPE.search(fragment):
        return None
    if text == "*":
        return URL("", "", "")
    scheme, rest = _scheme(text)
    if scheme is None:
        return None
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(scheme, rest, query)
        if ":" in rest.partition("/")[0]:
            return None
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        if not _authority(authority):
            return None
        rest = slash + path
    return None if _BAD_ESCAPE.search(rest) else URL(scheme, "", query)


def query_values(query: str, name: str) -> list[str]:
    """The raw values of one parameter; parameters that do not parse are skipped."""
    values = []
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if key == name and ";" not in pair and not _BAD_ESCAPE.search(value):
            values.append(value)
    return values


def _scheme(text: str) -> tuple[str | None, str]:
    match = _SCHEME.match(text)
    if match is not None:
        return match.group()[:-1].lower(), text[match.end() :]
    return (None, "") if text.startswith(":") else ("", text)


def _authority(authority: str) -> bool:
    userinfo, at, host = authority.rpartition("@")
    if at and (not _USERINFO.fullmatch(userinfo) or _BAD_ESCAPE.search(userinfo)):
        return False
    return _host(host)


def _host(host: str) -> bool:
    if host.startswith("["):
        inner, bracket, port = host.rpartition("]")
        if not bracket or not _PORT.fullmatch(port):
            return False
        address, zone, name = inner.partition("%25")
        return bool(_HOST.fullmatch(address)) and (not zone or not _BAD_ESCAPE.search(name))
    _, colon, port = host.rpartition(":")
    if colon and not _PORT.fullmatch(":" + port):
        return False
    return bool(_HOST.fullmatch(host))
