"""Strings, regular expressions and named formats of the Kubernetes CEL library."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mco.apiserver.cel import urls
from mco.apiserver.cel.frame import OutOfBudget
from mco.apiserver.cel.values import Failure, Opaque
from mco.apiserver.schema.formats import check_of
from mco.apiserver.schema.patterns import Pattern, compile_pattern
from mco.apiserver.strategies import names

FORMAT = "kubernetes.NamedFormat"
LONGEST = 10_000_000
"""A text that costs more to look at than one expression may."""


def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise ValueError(f"index out of range: {index}")
    return text[index : index + 1]


def lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


def upper(text: str) -> str:
    return "".join(c.upper() if c.isascii() else c for c in text)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    """Raises OutOfBudget."""
    times = text.count(old) if count < 0 else min(text.count(old), count)
    if len(text) + times * (len(new) - len(old)) > LONGEST:
        raise OutOfBudget
    return text.replace(old, new, count)


def split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        return list(text) if count < 0 or count > len(text) else [*text[: count - 1], text[count - 1 :]]
    return text.split(separator, count - 1 if count > 0 else -1)


def substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise ValueError(f"index out of range: {start}")
    if not 0 <= end <= len(text):
        raise ValueError(f"index out of range: {end}")
    if start > end:
        raise ValueError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def trim(text: str) -> str:
    return text.strip()


def join(texts: list[Any], separator: str = "") -> str:
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("no such overload")
    return separator.join(texts)


def find(text: str, pattern: str) -> str:
    return compiled(pattern).first_in(text)


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = compiled(pattern).all_in(text)
    return found if limit < 0 else found[:limit]


def compiled(pattern: str) -> Pattern:
    """Raises Failure for what is no pattern."""
    try:
        return compile_pattern(pattern)
    except re.error as error:
        raise Failure(str(error)) from None


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Of what a random ending is added to, which may therefore end in a dash."""

    def check(text: str) -> list[str]:
        return rule(text[:-1] + "a" if text.endswith("-") else text)

    return check


def _crd_format(form: str, problem: str) -> Callable[[str], list[str]]:
    holds = check_of(form)
    assert holds is not None
    return lambda text: [] if holds(text) else [problem]


def _uri(text: str) -> list[str]:
    return [] if urls.is_url(text) else [f'parse "{text}": invalid URI for request']


FORMATS: dict[str, Callable[[str], list[str]]] = {
    "byte": _crd_format("byte", "invalid base64"),
    "date": _crd_format("date", "invalid date"),
    "datetime": _crd_format("date-time", "invalid datetime"),
    "dns1035Label": names.dns1035_errors,
    "dns1035LabelPrefix": _prefix(names.dns1035_errors),
    "dns1123Label": names.label_errors,
    "dns1123LabelPrefix": _prefix(names.label_errors),
    "dns1123Subdomain": names.subdomain_errors,
    "dns1123SubdomainPrefix": _prefix(names.subdomain_errors),
    "labelValue": names.label_value_errors,
    "qualifiedName": names.qualified_name_errors,
    "uri": _uri,
    "uuid": _crd_format("uuid", "does not match the UUID format"),
}


def named_format(name: str) -> Callable[[], Opaque]:
    return lambda: Opaque(FORMAT, name)


def format_by_name(name: str) -> Opaque | None:
    """None for a name that nobody knows."""
    return Opaque(FORMAT, name) if name in FORMATS else None


def violations(form: Opaque, text: str) -> list[str]:
    """What is wrong with the text; nothing when it has the format."""
    return FORMATS[form.content](text)
