"""What an unquoted YAML scalar means to the YAML library of the original (yaml.v2 2.4.0).

Reading uses it to type values (`0644` is 420, `yes` is true), and writing uses it to know which strings must
be quoted (spec/render.md 1.7, rule b). Both need exactly the same answer, including Go's idea of integers,
floats and dates. A date is recognized, but stays text.
"""

from __future__ import annotations

import re
from typing import Final

Scalar = str | bool | int | float | None

_MEANINGS: Final[tuple[tuple[Scalar, str], ...]] = (
    (True, "y Y yes Yes YES true True TRUE on On ON"),
    (False, "n N no No NO false False FALSE off Off OFF"),
    (None, "~ null Null NULL"),
    (float("nan"), ".nan .NaN .NAN"),
    (float("inf"), ".inf .Inf .INF +.inf +.Inf +.INF"),
    (float("-inf"), "-.inf -.Inf -.INF"),
)
_WORDS: Final[dict[str, Scalar]] = {word: value for value, words in _MEANINGS for word in words.split()}
_WORDS[""] = None

_NUMERIC_START: Final = frozenset("0123456789+-.")
_START: Final = _NUMERIC_START | frozenset("yYnNtTfFoO~")

_INTEGER = re.compile(r"([-+]?)(?:(0[xX])([0-9a-fA-F]+)|(0[bB])([01]+)|(0[oO]?)([0-7]+)|(0|[1-9][0-9]*))\Z")
_SIGNED_BINARY = re.compile(r"0b[-+][01]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
# After a leading dot the text goes to Go's `ParseFloat` as it is, which takes underscores between digits.
_DOT_FLOAT = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?\Z")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
_DATE = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(.*)\Z", re.DOTALL)
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(.*)\Z", re.DOTALL)
_ZONE = re.compile(r"Z\Z|[-+]([0-9]{2}):([0-9]{2})\Z")

_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def resolve(text: str) -> Scalar:
    """The value of a plain scalar; the text itself when it is a string or a date."""
    if text and text[0] not in _START:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START or (text[0] != "." and is_date(text)):
        return text
    number = _number(text)
    return text if number is None else number


def must_be_quoted(text: str) -> bool:
    """Whether a plain scalar would not read back as this string."""
    if text and text[0] not in _START:
        return False
    if text in _WORDS:
        return True
    if text[0] not in _NUMERIC_START:
        return False
    return _number(text) is not None or is_date(text) or _BASE_60.match(text) is not None


def is_date(text: str) -> bool:
    """Whether Go's `time.Parse` takes it as one of the four layouts of yaml.v2."""
    match = _DATE.match(text)
    if not match:
        return False
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1] - (month == 2 and not leap):
        return False
    rest = match[4]
    if not rest:
        return True
    zoned = rest[0] in "Tt"
    if not zoned and rest[0] != " ":
        return False
    return _is_time(rest[1:] if zoned else rest.lstrip(" "), zoned)


def _is_time(text: str, zoned: bool) -> bool:
    match = _TIME.match(text)
    if not match or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3]) > 59:
        return False
    if not zoned:
        return not match[4]
    zone = _ZONE.match(match[4])
    return zone is not None and (zone[1] is None or (int(zone[1]) <= 24 and int(zone[2]) <= 60))


def _number(text: str) -> int | float | None:
    plain = text.replace("_", "")
    if text[0] == ".":
        return _float(plain) if _DOT_FLOAT.match(text) else None
    integer = _integer(plain)
    return _float(plain) if integer is None else integer


def _integer(text: str) -> int | None:
    """A 64-bit integer as `strconv.ParseInt` and `ParseUint` read it with base 0, or a signed `0b` number."""
    if _SIGNED_BINARY.match(text):
        return _in_range(int(text[2:], 2), signed=True)
    match = _INTEGER.match(text)
    if not match:
        return None
    sign, _, hexadecimal, _, binary, _, octal, decimal = match.groups()
    if hexadecimal:
        value = int(hexadecimal, 16)
    elif binary:
        value = int(binary, 2)
    elif octal:
        value = int(octal, 8)
    else:
        value = int(decimal)
    return _in_range(-value if sign == "-" else value, signed=bool(sign))


def _in_range(value: int, *, signed: bool) -> int | None:
    highest = 2**63 if signed else 2**64
    return value if -(2**63) <= value < highest else None


def _float(text: str) -> float | None:
    if not _FLOAT.match(text):
        return None
    value = float(text)
    return None if value in (float("inf"), float("-inf")) else value
