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
_FOREIGN = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?[=!]|\(\?<[=!]?(?=[^a-zA-Z]|$)|\\[1-9])")
"""What Python knows and RE2 does not: a look around, and a reference back."""
_TOKEN = re.compile(r"\\.|\[:(\w+):\]|\[\^?\]?|\]|\$|.", re.DOTALL)


@functools.lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Raises re.error with RE2's text for what is no pattern."""
    if found := _FOREIGN.search(pattern):
        kind = "invalid escape sequence" if found[0][0] == "\\" else "invalid or unsupported Perl syntax"
        raise re.error(f"error parsing regexp: {kind}: `{found[0]}`")
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
    try:
        return re.compile("".join(out), re.ASCII)
    except re.error as error:
        raise re.error(f"error parsing regexp: {_explained(error, pattern)}") from None


def _explained(error: re.error, pattern: str) -> str:
    text, rest = error.msg, pattern[error.pos or 0 :]
    if text.startswith("missing )"):
        return f"missing closing ): `{pattern}`"
    if text.startswith("unbalanced"):
        return f"unexpected ): `{pattern}`"
    if text.startswith("unterminated character set"):
        return f"missing closing ]: `{rest}`"
    if text.startswith("nothing to repeat"):
        return f"missing argument to repetition operator: `{rest[:1]}`"
    if text.startswith("min repeat"):
        return f"invalid repeat count: `{{{rest.partition('}')[0].removeprefix('{')}}}`"
    return f"{text}: `{rest}`"
