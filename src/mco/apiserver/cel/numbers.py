"""Quantities of the Kubernetes CEL library."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from mco.apiserver.cel.values import Opaque

QUANTITY = "kubernetes.Quantity"

_QUANTITY = re.compile(
    r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:(Ki|Mi|Gi|Ti|Pi|Ei)|([numkMGTPE]?)|[eE]([+-]?\d+))\Z", re.ASCII
)
_BINARY = {unit: 1024**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_UNITS = {exponent: unit for unit, exponent in _DECIMAL.items()}
_INT64 = 2**63
_FURTHEST = 5000
"""A power of ten that is beyond all bounds with any digits that Python reads."""
_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def quantity(text: str) -> Opaque:
    """Equal quantities are equal, however they were written; none is beyond 64 bits, or finer than a
    billionth. Raises ValueError for what is none."""
    match = _QUANTITY.match(text)
    if match is None:
        raise ValueError(_RULE)
    sign, digits, binary, decimal, exponent = match.groups()
    power = max(-_FURTHEST, min(int(exponent or _DECIMAL[decimal or ""]), _FURTHEST))
    value = Fraction(digits) * (_BINARY[binary] if binary else Fraction(10) ** power)
    value = min(Fraction(math.ceil(value * 10**9), 10**9), Fraction(_INT64 - 1))
    return _made(-value if sign == "-" else value, "Ki" if binary else "e" if exponent else "")


def _made(amount: Fraction, form: str) -> Opaque:
    """`form` is the family of the suffix: `Ki`, `e`, or none."""
    return Opaque(QUANTITY, amount, _text(amount, form))


def _text(amount: Fraction, form: str) -> str:
    """In the shortest way that the family has; parts of a billionth are rounded up."""
    if form == "Ki" and abs(amount) >= 1024:
        number, power = -(-amount.numerator // amount.denominator), 0
        while number % 1024 == 0 and power < len(_BINARY):
            number, power = number // 1024, power + 1
        return f"{number}{['', *_BINARY][power]}"
    number, exponent = _tens(amount)
    if form == "e":
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_UNITS.get(exponent, f'e{exponent}')}"


def _tens(amount: Fraction) -> tuple[int, int]:
    """As a whole number and a power of ten, which is a multiple of three."""
    nano = abs(amount) * 10**9
    number, exponent = -(-nano.numerator // nano.denominator), -9
    while number and number % 1000 == 0:
        number, exponent = number // 1000, exponent + 3
    return (-number if amount < 0 else number), exponent if number else 0


def is_quantity(text: str) -> bool:
    try:
        quantity(text)
    except ValueError:
        return False
    return True


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


def add(value: Opaque, other: Opaque | int) -> Opaque:
    return _made(_amount(value) + _amount(other), _form(value, other))


def sub(value: Opaque, other: Opaque | int) -> Opaque:
    return _made(_amount(value) - _amount(other), _form(value, other))


def compare(value: Opaque, other: Opaque) -> int:
    return int(value.content > other.content) - int(value.content < other.content)


def is_less(value: Opaque, other: Opaque) -> bool:
    return compare(value, other) < 0


def is_greater(value: Opaque, other: Opaque) -> bool:
    return compare(value, other) > 0


def _form(value: Opaque, other: Opaque | int) -> str:
    """A sum is written as its first part, unless that is nothing."""
    like = value if value.content or isinstance(other, int) else other
    assert isinstance(like, Opaque)
    return "Ki" if like.shown.endswith("i") else "e" if "e" in like.shown else ""


def _amount(value: Opaque | int) -> Fraction:
    return Fraction(value) if isinstance(value, int) else value.content
