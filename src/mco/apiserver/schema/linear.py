"""RE2, whose time is linear in the text whatever the pattern: it comes along with the compiler of rules."""

from __future__ import annotations

import functools
from typing import Any

try:
    from cel_expr_python import cel
except ImportError:  # Not built for every platform; patterns are then Python's only.
    cel = None

AVAILABLE = cel is not None


def problem(pattern: str) -> str:
    """Why RE2 does not take the pattern, or the empty text."""
    answer = _answer("text.matches(pattern)", "", pattern)
    if answer.type() != cel.Type.ERROR:
        return ""
    return str(answer.value()).partition("invalid regular expression: ")[2]


def occurs(pattern: str, text: str) -> bool:
    return bool(_answer("text.matches(pattern)", text, pattern).value())


def first(pattern: str, text: str) -> str:
    """What it finds, or the empty text. The pattern captures nothing."""
    return str(_answer("regex.extract(text, pattern).orValue('')", text, f"({pattern})").value())


def _answer(question: str, text: str, pattern: str) -> Any:
    return _asked(question).eval(data={"text": text, "pattern": pattern})


@functools.cache
def _asked(question: str) -> Any:
    config = cel.NewEnvConfigFromYaml("name: patterns\nextensions:\n- name: regex\n- name: optional\n")
    names = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    return cel.NewEnv(config=config, variables=names).compile(question)
