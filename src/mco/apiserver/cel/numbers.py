"""Quantities and semantic versions of the Kubernetes CEL library."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from mco.apiserver.cel.network import Opaque, content

QUANTITY, SEMVER = "kubernetes.Quantity", "kubernetes.Semver"

_QUANTITY = re.compile(
    r"([+-]?)(\d+\.?\d*|\.\d+)(?:(Ki|Mi|Gi|Ti|Pi|Ei)|([numkMGTPE]?)|[eE]([+-]?\d+))\Z", re.ASCII
)
_BINARY = {unit: 1024**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_INT64 = 2**63
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z",
    re.ASCII,
)


def parse_quantity(text: str) -> Fraction:
    """Raises ValueError for what is no quantity."""
    match = _QUANTITY.match(text)
    if match is None:
        raise ValueError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, digits, binary, decimal, exponent = match.groups()
    factor = Fraction(_BINARY[binary]) if binary else Fraction(10) ** int(exponent or _DECIMAL[decimal or ""])
    value = Fraction(digits) * factor
    return -value if sign == "-" else value


def is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def quantity(text: str) -> Opaque:
    """Equal quantities are equal, however they were written."""
    return {QUANTITY: str(parse_quantity(text))}


def sign(value: Opaque) -> int:
    amount = _amount(value)
    return (amount > 0) - (amount < 0)


def is_integer(value: Opaque) -> bool:
    amount = _amount(value)
    return amount.denominator == 1 and -_INT64 <= amount < _INT64


def as_integer(value: Opaque) -> int:
    if not is_integer(value):
        raise ValueError("cannot convert value to integer")
    return int(_amount(value))


def as_float(value: Opaque) -> float:
    return float(_amount(value))


def add(value: Opaque, other: Any) -> Opaque:
    return {QUANTITY: str(_amount(value) + _amount(other))}


def sub(value: Opaque, other: Any) -> Opaque:
    return {QUANTITY: str(_amount(value) - _amount(other))}


def is_less(value: Opaque, other: Opaque) -> bool:
    return compare(value, other) < 0


def is_greater(value: Opaque, other: Opaque) -> bool:
    return compare(value, other) > 0


def compare(value: Opaque, other: Opaque) -> int:
    """Of two quantities, or of two versions."""
    left: Any
    right: Any
    if SEMVER in value:
        left, right = _precedence(value), _precedence(other)
    else:
        left, right = _amount(value), _amount(other)
    return int(left > right) - int(left < right)


def is_semver(text: str) -> bool:
    return _SEMVER.match(text) is not None


def semver(text: str) -> Opaque:
    if not is_semver(text):
        raise ValueError(f"semver parse error: {text} is not a semantic version")
    return {SEMVER: text}


def major(value: Opaque) -> int:
    return int(content(value, SEMVER).split(".")[0])


def minor(value: Opaque) -> int:
    return int(content(value, SEMVER).split(".")[1])


def patch(value: Opaque) -> int:
    match = _SEMVER.match(content(value, SEMVER))
    assert match is not None
    return int(match[3])


def _precedence(value: Opaque) -> tuple[Any, ...]:
    match = _SEMVER.match(content(value, SEMVER))
    assert match is not None
    before = match[4]
    parts = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in (before or "").split(".") if part
    )
    return (int(match[1]), int(match[2]), int(match[3]), before is None, parts)


def _amount(value: Any) -> Fraction:
    return Fraction(value) if isinstance(value, int) else Fraction(content(value, QUANTITY))
