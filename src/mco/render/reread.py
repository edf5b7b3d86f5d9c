"""What a string becomes on the original's way to the text that it hashes.

It writes the spec as JSON and reads that JSON with its YAML parser (spec/render.md 1.7). JSON leaves some
characters as they are that YAML refuses, and U+0085 is a line break to YAML: inside quotes it is folded, with
the spaces around it. Nothing else changes, so nearly every tree comes back as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mco.base.errors import RenderError

_UNSAFE = re.compile("[\x7f-\x9f\ufffe\uffff]")
_REFUSED = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff]")
_NEXT_LINES = re.compile(" *\x85[ \x85]*")
_DOCUMENT_MARK = re.compile("\x85(?:---|\\.\\.\\.)[ \x85]")

_FAILED = "error converting JSON to YAML: yaml: "


def reread(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tree that the original hashes. Raises RenderError, its text, where it cannot read its own JSON."""
    if _safe(tree):
        return tree
    for path, text in _texts(tree, "$.spec"):
        if refused := _REFUSED.search(text):
            raise RenderError(
                f"{_FAILED}control characters are not allowed",
                path=path,
                hint=f"write the content with U+{ord(refused[0]):04X} as base64, or leave the character out",
            )
    line = 1
    for path, text in _texts(tree, "$.spec"):
        if mark := _DOCUMENT_MARK.search(text):
            line += text.count("\x85", 0, mark.start() + 1)
            raise RenderError(f"{_FAILED}line {line}: found unexpected document indicator", path=path)
        line += text.count("\x85")
    folded: Mapping[str, Any] = _fold(tree)
    return folded


def _safe(value: Any) -> bool:
    if isinstance(value, str):
        return "\x7f" not in value if value.isascii() else _UNSAFE.search(value) is None
    if isinstance(value, Mapping):
        return all(map(_safe, value.values()))
    return all(map(_safe, value)) if isinstance(value, list | tuple) else True


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}.{index}")


def _fold(value: Any) -> Any:
    if isinstance(value, str):
        return _NEXT_LINES.sub(lambda run: "\n" * (run[0].count("\x85") - 1) or " ", value)
    if isinstance(value, Mapping):
        return {key: _fold(item) for key, item in value.items()}
    return [_fold(item) for item in value] if isinstance(value, list | tuple) else value
