"""RE2 patterns in Python's dialect: `$` is the end of the text, classes are ASCII (design.md 10)."""

from __future__ import annotations

import functools
import re

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\t\n\v\f\r ",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
    "punct": r"!-/:-@\[-`{-~",
}
_TOKEN = re.compile(r"\\.|\[:(\w+):\]|\[\^?\]?|\]|\$|.", re.DOTALL)


@functools.lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Raises re.error for a pattern that Python cannot read either."""
    out: list[str] = []
    in_class = False
    for match in _TOKEN.finditer(pattern):
        token = match[0]
        if match[1]:
            out.append(_POSIX.get(match[1], token) if in_class else token)
        elif token == r"\z":
            out.append(r"\Z")
        elif in_class:
            # A bracket inside of a class is itself; Python warns of what could become a set operation.
            out.append("\\" + token if token == "[" else token)
            in_class = token != "]"
        elif token.startswith("["):
            in_class = True
            out.append(token)
        else:
            out.append(r"\Z" if token == "$" else token)
    return re.compile("".join(out), re.ASCII)
