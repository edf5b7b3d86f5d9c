"""The subset of JSONPath that printer columns use (`.a.b`, `[0]`, `[*]`, `['key']`, `[?(@.type=="Ready")]`).

Compiled once to a function, because a list of thousands of nodes evaluates it thousands of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from mco.base.errors import InvalidInput

Step = Callable[[Any], Iterator[Any]]

_NAME = re.compile(r"\.((?:\\.|[^.\[\\])+)")
_INDEX = re.compile(r"\[(-?\d+)\]")
_QUOTED = re.compile(r"\[(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\]")
_STAR = re.compile(r"\[\*\]|\.\*")
_FILTER = re.compile(
    r"\[\?\(\s*@((?:\.(?:\\.|[^.\[\\\s=!<>)])+)+)\s*(==|!=)\s*"
    r"(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([\w.-]+))\s*\)\]"
)


def compile_path(path: str) -> Callable[[Any], list[Any]]:
    """A function from a JSON value to everything that the path finds in it.

    The path may stand in braces. Raises InvalidInput for syntax outside of the subset."""
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    steps = _steps(text.removeprefix("$"), path)

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [item for value in found for item in step(value)]
        return found

    return find


def _steps(text: str, path: str) -> list[Step]:
    steps: list[Step] = []
    position = 0
    while position < len(text):
        for pattern, build in _GRAMMAR:
            if match := pattern.match(text, position):
                steps.append(build(match))
                position = match.end()
                break
        else:
            raise InvalidInput(f'the JSONPath "{path}" cannot be understood', path=text[position:])
    return steps


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _name(match: re.Match[str]) -> Step:
    return _key(_unescape(match[1]))


def _quoted(match: re.Match[str]) -> Step:
    return _key(_unescape(match[1] if match[1] is not None else match[2]))


def _key(key: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and key in value:
            yield value[key]

    return step


def _index(match: re.Match[str]) -> Step:
    index = int(match[1])

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _all(_match: re.Match[str]) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            yield from value.values()

    return step


def _filter(match: re.Match[str]) -> Step:
    find = compile_path(match[1])
    wanted = next((text for text in match.group(3, 4, 5) if text is not None), "")
    equal = match[2] == "=="

    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            found = find(item)
            if bool(found and _text(found[0]) == wanted) is equal:
                yield item

    return step


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_GRAMMAR: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]], ...] = (
    (_STAR, _all),
    (_NAME, _name),
    (_INDEX, _index),
    (_QUOTED, _quoted),
    (_FILTER, _filter),
)
