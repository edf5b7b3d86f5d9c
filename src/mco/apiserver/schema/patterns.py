"""RE2 patterns in Python's dialect: `$` is the end of the text, classes are ASCII (design.md 10)."""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Iterator

import msgspec

from mco.apiserver.schema import linear

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
_CAPTURE = r"\((?:\?P?<\w+>|(?!\?))"
_TOKEN = re.compile(rf"\\.|\[:(\w+):\]|\[\^?\]?|\]|\$|({_CAPTURE})|.", re.DOTALL)
_REPEATS = ("*", "+", "{")
_MOST_STEPS = 100_000
"""Of Python's engine, about a millisecond."""


class Pattern(msgspec.Struct, frozen=True):
    """Python's engine is the faster one, but goes back and tries again: for texts of more characters than
    `longest` it may take long, and RE2 is asked. `plain` is the pattern without captures."""

    python: re.Pattern[str]
    plain: str
    longest: int

    def occurs_in(self, text: str) -> bool:
        if len(text) > self.longest:
            return linear.occurs(self.plain, text)
        return self.python.search(text) is not None

    def first_in(self, text: str) -> str:
        """The empty text where it does not occur."""
        if len(text) > self.longest:
            return linear.first(self.plain, text)
        found = self.python.search(text)
        return found[0] if found else ""

    def all_in(self, text: str) -> list[str]:
        """By Python always: RE2, as it is offered, takes what follows a match for a text of its own."""
        return [match[0] for match in self.python.finditer(text)]


@functools.lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """Raises re.error with RE2's text for what is no pattern."""
    if found := _FOREIGN.search(pattern):
        kind = "invalid escape sequence" if found[0][0] == "\\" else "invalid or unsupported Perl syntax"
        raise re.error(f"error parsing regexp: {kind}: `{found[0]}`")
    tokens = list(_tokens(pattern))
    try:
        python = re.compile("".join(map(_in_python, tokens)), re.ASCII)
    except re.error as error:
        raise re.error(f"error parsing regexp: {_explained(error, pattern)}") from None
    if not linear.AVAILABLE:
        return Pattern(python, pattern, sys.maxsize)
    if problem := linear.problem(pattern):
        raise re.error(f"error parsing regexp: {_worded(problem)}")
    plain = "".join("(?:" if token.captures else token.text for token in tokens)
    return Pattern(python, plain, _longest(tokens))


class _Token(msgspec.Struct, frozen=True):
    """`name` of a class of characters, as `alpha`; `captures`: it opens a group that does."""

    text: str
    name: str
    captures: bool
    in_class: bool


def _tokens(pattern: str) -> Iterator[_Token]:
    in_class = False
    for match in _TOKEN.finditer(pattern):
        text = match[0]
        yield _Token(text, match[1] or "", bool(match[2]) and not in_class, in_class)
        if not match[1]:
            in_class = text != "]" if in_class else text.startswith("[")


def _in_python(token: _Token) -> str:
    match token.text:
        case text if token.name:
            return _POSIX.get(token.name, text) if token.in_class else text
        case r"\z":
            return r"\Z"
        case "[" if token.in_class:
            # It is itself there; Python warns of what could become a set operation.
            return r"\["
        case "$" if not token.in_class:
            return r"\Z"
        case text:
            return text


def _longest(tokens: list[_Token]) -> int:
    """Each repetition may end anywhere in the text, and the first one begin anywhere; a repeated group, in
    which something may repeat, is for no text."""
    repeats = 0
    for before, token in itertools.pairwise([_Token("", "", False, False), *tokens]):
        if token.text in _REPEATS and not token.in_class:
            if before.text == ")":
                return -1
            repeats += 1
    return int(_MOST_STEPS ** (1 / (repeats + 1))) - 1


def _worded(problem: str) -> str:
    """RE2 for C++ has other words than the one for Go."""
    kind, _, part = problem.partition(": ")
    return f"{kind.replace('repetition size', 'repeat count')}: `{part}`"


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
