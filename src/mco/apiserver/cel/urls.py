"""URLs of the Kubernetes CEL library."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from mco.apiserver.cel.values import Opaque

URL = "kubernetes.URL"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")


def url(text: str) -> Opaque:
    """Raises ValueError for what is no absolute URI, and no absolute path (as in a request's first line)."""
    if problem := _problem(text):
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": {problem}')
    return Opaque(URL, text)


def is_url(text: str) -> bool:
    return not _problem(text)


def scheme(value: Opaque) -> str:
    return str(_split(value).scheme)


def host(value: Opaque) -> str:
    return str(_split(value).netloc.rpartition("@")[2])


def hostname(value: Opaque) -> str:
    name, bracket, _ = host(value).removeprefix("[").partition("]")
    return name if bracket else name.partition(":")[0]


def port(value: Opaque) -> str:
    tail = host(value).rpartition("]")[2]
    return tail.rpartition(":")[2] if ":" in tail else ""


def escaped_path(value: Opaque) -> str:
    return quote(unquote(_split(value).path), safe="/$&+,:;=@!'()*~-._")


def query(value: Opaque) -> dict[str, list[str]]:
    return parse_qs(_split(value).query, keep_blank_values=True)


def _problem(text: str) -> str:
    head, _, path = text.partition("//")[2].partition("/") if "://" in text else ("", "", text)
    host = head.rpartition("@")[2]
    tail = host.rpartition("]")[2]
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in text):
        return "net/url: invalid control character in URL"
    if not text:
        return "empty url"
    if not _SCHEME.match(text) and not text.startswith("/"):
        return "invalid URI for request"
    if escape := _ESCAPE.search(path.partition("?")[0]):
        return f'invalid URL escape "{escape[0]}"'
    if host.startswith("[") and "]" not in host:
        return "missing ']' in host"
    if ":" in tail and not (number := tail.rpartition(":")[2]).isdigit() and number:
        return f'invalid port ":{number}" after host'
    if strange := next((c for c in host if c in ' \\"<>^`{|}'), ""):
        return f'invalid character "{strange}" in host name'
    return ""


def _split(value: Opaque) -> Any:
    return urlsplit(value.content)
