"""`'%s is %d'.format([a, b])` of CEL: read once, applied to values or to the types of a literal list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mco.apiserver.cel import times
from mco.apiserver.cel.conversions import text as text_of
from mco.apiserver.cel.values import Duration, Timestamp, is_number, tag_of

_SPECIAL = ("NaN", "Infinity", "-Infinity")
_PRECISION = 6
_PRECISION_DIGITS = 4
"""No number has ten thousand places, but each place takes memory."""
_CLAUSE = re.compile(r"%(?:%|(\.\d*)?(.?))", re.DOTALL | re.ASCII)
_INTEGERS = ("int", "uint")
_SHOWN = (
    *("string", "bool", "bytes", "int", "uint", "double", "list", "map", "type", "null_type"),
    *("google.protobuf.Duration", "google.protobuf.Timestamp"),
)
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "s": (
        _SHOWN,
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
        "durations, and timestamps",
    ),
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "f": (("double",), "fixed-point clause can only be used on doubles"),
    "e": (("double",), "scientific clause can only be used on doubles"),
    "b": ((*_INTEGERS, "bool"), "only integers and bools can be formatted as binary"),
    "x": (
        (*_INTEGERS, "bytes", "string"),
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
}
"""By the letter in lower case: the types that it takes, and what is said of other ones."""


class Clause(msgspec.Struct, frozen=True):
    kind: str
    precision: int


def parts(text: str, count: int) -> Iterator[str | Clause]:
    """Literal text and clauses in turns, for `count` arguments. Raises ValueError."""
    at = used = 0
    for match in _CLAUSE.finditer(text):
        yield text[at : match.start()]
        at = match.end()
        if match[0] == "%%":
            yield "%"
            continue
        if match[0] == "%" and used <= count:
            raise ValueError("unexpected end of string")
        if used >= count:
            raise ValueError(f"index {used} out of range")
        used += 1
        yield _clause(match[1], match[2])
    yield text[at:]


def _clause(precision: str | None, kind: str) -> Clause:
    if not kind:
        problem = "could not find end of precision specifier"
        raise ValueError(f"could not parse formatting clause: error while parsing precision: {problem}")
    if precision == ".":
        problem = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        raise ValueError(f"could not parse formatting clause: error while parsing precision: {problem}")
    if kind.lower() not in KINDS or (kind.isupper() and kind != "X"):
        raise ValueError(f'could not parse formatting clause: unrecognized formatting clause "{kind}"')
    digits = precision[1:] if precision else str(_PRECISION)
    if len(digits) > _PRECISION_DIGITS:
        raise ValueError(f"could not parse formatting clause: precision {digits} is too large")
    return Clause(kind, int(digits))


def formatted(text: str, values: list[Any]) -> str:
    """Raises ValueError."""
    rest = iter(values)
    return "".join(
        part if isinstance(part, str) else _applied(part, next(rest)) for part in parts(text, len(values))
    )


def refusal(kind: str, tag: str) -> str:
    """Why a clause does not take values of a type, or the empty text."""
    taken, rule = KINDS[kind.lower()]
    return "" if tag in taken else f"error during formatting: {rule}, was given {tag}"


def _applied(clause: Clause, value: Any) -> str:
    kind, tag = clause.kind, tag_of(value)
    if kind in "fe" and value in _SPECIAL:
        value, tag = float(str(value).replace("Infinity", "inf")), "double"
    if problem := refusal(kind, tag):
        raise ValueError(problem)
    return _WRITERS[kind.lower()](value, clause)


def _float(value: Any, clause: Clause) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    if clause.kind == "e":
        mantissa, _, exponent = f"{value:.{clause.precision}e}".partition("e")
        return f"{mantissa}\u202f×\u202f10{_superscript(int(exponent))}"
    return f"{value:,.{clause.precision}f}"


def _superscript(exponent: int) -> str:
    digits = f"{'-' if exponent < 0 else ''}{abs(exponent):02d}"
    return digits.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _hex(value: Any, clause: Clause) -> str:
    if isinstance(value, str | bytes):
        shown = (value.encode() if isinstance(value, str) else value).hex()
    else:
        shown = f"{value:x}"
    return shown.upper() if clause.kind == "X" else shown


_WRITERS: dict[str, Callable[[Any, Clause], str]] = {
    "s": lambda value, _: shown(value),
    "d": lambda value, _: f"{value:d}",
    "f": _float,
    "e": _float,
    "b": lambda value, _: f"{int(value):b}",
    "x": _hex,
    "o": lambda value, _: f"{value:o}",
}


def shown(value: Any) -> str:
    """A value as `%s` shows it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        entries = sorted((_literal(key), _literal(entry)) for key, entry in value.items())
        return f"{{{', '.join(f'{key}:{entry}' for key, entry in entries)}}}"
    return "null" if value is None else text_of(value)


def _literal(value: Any) -> str:
    """Inside of a list or a map values are written as in an expression."""
    match value:
        case str() | bytes():
            plain = shown(value)
            return f"{'b' if isinstance(value, bytes) else ''}{quoted(plain)}"
        case Timestamp():
            return f'timestamp("{times.timestamp_text(value)}")'
        case Duration():
            return f'duration("{times.duration_text(value)}")'
        case float():
            return f"{value:.6f}" if is_number(value) and value == value else '"NaN"'
    return shown(value)


_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


def quoted(text: str) -> str:
    return f'"{"".join(_ESCAPES.get(c, c) for c in text)}"'
