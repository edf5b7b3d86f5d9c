"""Schemas as indented text, one field a line (the notation of spec/controllerconfig.md 1).

    name*  type words      a field (`*`: required) of the object whose fields are indented one step less
    +group  +group(x)      the fields and rules of a named group; x stands for its `$L`
    ! rule                 a CEL rule of the node above, `= message` on the next line
    []! rule               the same for the items of the list above

Types: `string int32 int64 bytes time object`, `map of T`, `atomic list of T`, `set list of T`,
`listMap(key) list of T`, `@shape`. Words: `len=a..b n=a..b range=a..b enum(a,b) pattern=` in backquotes
`format=f default=json nullable embedded mapAtomic`. Marks: `[gate X]` after a field, glued to a word, or
before a rule; `[gate X alone]` and `[base]` for what the schema with all gates has not.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mco.api.variants import RULES, Marked, Schema
from mco.base.errors import InvalidInput

_STEP = "  "
_TOKENS = re.compile(r"\[[^]]*]|(?:`[^`]*`|[^\s`\[])+(?:\[[^]]*])?")
_MARK = re.compile(r"\[(?:base|gate (?P<gate>\S+)(?: alone)?)]")
_RULE = re.compile(r"(?P<item>\[])?! (?:(?P<mark>\[[^]]*]) )?(?P<rule>.*)")
_GROUP = re.compile(r"\+(?P<name>\w+)(?:\((?P<argument>\w+)\))?")

_TYPES: Mapping[str, Schema] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "object": {"type": "object"},
}
_FLAGS: Mapping[str, tuple[str, Any]] = {
    "nullable": ("nullable", True),
    "embedded": ("x-kubernetes-embedded-resource", True),
    "mapAtomic": ("x-kubernetes-map-type", "atomic"),
}
_BOUNDS = {"len": ("minLength", "maxLength"), "n": ("minItems", "maxItems"), "range": ("minimum", "maximum")}


class Line(msgspec.Struct):
    """`below` are the lines that are indented more."""

    text: str
    below: list[Line] = []


def schema(name: str, *texts: str) -> Schema:
    """The marked schema of what is defined under that name at the left margin of one of the texts.

    A shape may be used before it is defined, and in another text. Raises InvalidInput with the bad line."""
    return _Table([line for text in texts for line in _lines(text)]).schema(name)


def _lines(text: str) -> list[Line]:
    root = Line("")
    path = [root]
    for number, raw in enumerate(text.splitlines(), 1):
        if not raw.strip():
            continue
        indent = len(raw) - len(raw.lstrip())
        depth = indent // len(_STEP)
        if indent % len(_STEP) or depth >= len(path):
            raise InvalidInput(f"line {number} is indented by {indent} blanks", hint=raw.strip())
        del path[depth + 1 :]
        line = Line(raw.strip(), [])
        path[-1].below.append(line)
        path.append(line)
    return root.below


class _Table:
    def __init__(self, lines: Sequence[Line]) -> None:
        self._defined = {line.text.split()[0]: line for line in lines if not line.text.startswith("+")}
        self._groups = {line.text[1:]: line for line in lines if line.text.startswith("+")}

    def schema(self, name: str) -> Schema:
        line = self._defined.get(name)
        if line is None:
            raise InvalidInput(f"no shape is called {name}")
        node, mark = self._node(_tokens(line.text)[1:], line.below, line.text)
        if mark is not None:
            raise InvalidInput(f"{name} itself cannot depend on a feature gate")
        return node

    def _node(self, words: list[str], below: list[Line], text: str) -> tuple[Schema, Marked | None]:
        """The schema of a field, and its mark."""
        mark = _mark(words.pop()) if words and _MARK.fullmatch(words[-1]) else None
        node, item = self._typed(words, text)
        self._fill(node, item, below)
        return node, mark

    def _typed(self, words: list[str], text: str) -> tuple[Schema, Schema]:
        """The node, and the node that takes the fields below: the item of a list or the value of a map."""
        if words[:2] == ["map", "of"]:
            item, deepest = self._typed(words[2:], text)
            return {"type": "object", "additionalProperties": item}, deepest
        if words[1:2] == ["list"]:
            cut = words.index("of")
            item, deepest = self._typed(words[cut + 1 :], text)
            node = {"type": "array", "items": item, **_list_type(words[0])}
            _apply(node, words[2:cut], text)
            return node, deepest
        name = words[0]
        if name.startswith("@"):
            node = copy.deepcopy(self.schema(name))
        elif name in _TYPES:
            node = dict(_TYPES[name])
        else:
            raise InvalidInput(f"{name} is no type", hint=text)
        _apply(node, words[1:], text)
        return node, node

    def _fill(self, node: Schema, item: Schema, below: Sequence[Line]) -> None:
        """Rules and fields; fields go to the item where the node is a list."""
        lines = iter(below)
        following = next(lines, None)
        while following is not None:
            line, following = following, next(lines, None)
            if found := _RULE.fullmatch(line.text):
                message = ""
                if following is not None and re.match(r"(\[])?= ", following.text):
                    message, following = following.text.partition("= ")[2], next(lines, None)
                _add_rule(item if found["item"] else node, found, message)
            elif line.text.startswith("+"):
                self._fill(node, item, self._group(line.text))
            else:
                self._field(item, line)

    def _field(self, item: Schema, line: Line) -> None:
        name, *words = _tokens(line.text)
        node, mark = self._node(words, line.below, line.text)
        if name.endswith("*"):
            name = name[:-1]
            item["required"] = sorted([*item.get("required", ()), name])
        item.setdefault("properties", {})[name] = node if mark is None else Marked(node, mark.gate)

    def _group(self, text: str) -> Sequence[Line]:
        found = _GROUP.fullmatch(text)
        if found is None or found["name"] not in self._groups:
            raise InvalidInput(f"no group is called {text}")
        below = self._groups[found["name"]].below
        return list(_replaced(below, found["argument"])) if found["argument"] else below


def _replaced(lines: Sequence[Line], argument: str) -> Iterator[Line]:
    for line in lines:
        yield Line(line.text.replace("$L", argument), list(_replaced(line.below, argument)))


def _tokens(text: str) -> list[str]:
    return _TOKENS.findall(text)


def _mark(text: str) -> Marked:
    """A mark without its value."""
    found = _MARK.fullmatch(text)
    if found is None:
        raise InvalidInput(f"{text} is no mark")
    return Marked(None, found["gate"] or "")


def _list_type(word: str) -> Schema:
    if word in ("atomic", "set"):
        return {"x-kubernetes-list-type": word}
    keys = word.removeprefix("listMap(").removesuffix(")").split(",")
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}


def _apply(node: Schema, words: Sequence[str], text: str) -> None:
    for word in words:
        plain, bracket, _ = word.partition("[") if word.endswith("]") and "`" not in word else (word, "", "")
        mark = _mark(word[len(plain) :]) if bracket else None
        for keyword, value in _keywords(plain, text):
            if mark is None:
                node[keyword] = value
            else:
                node[keyword] = (*node.get(keyword, ()), Marked(value, mark.gate))


def _keywords(word: str, text: str) -> Iterator[tuple[str, Any]]:
    if word in _FLAGS:
        yield _FLAGS[word]
    elif word.startswith("enum("):
        values = word.removeprefix("enum(").removesuffix(")").split(",")
        yield "enum", ["" if value == '""' else value for value in values]
    elif word.startswith("pattern="):
        yield "pattern", word.removeprefix("pattern=").strip("`")
    elif word.startswith("format="):
        yield "format", word.removeprefix("format=")
    elif word.startswith("default="):
        yield "default", msgspec.json.decode(word.removeprefix("default="))
    elif (name := word.partition("=")[0]) in _BOUNDS:
        for keyword, number in zip(_BOUNDS[name], word.partition("=")[2].split(".."), strict=True):
            if number:
                yield keyword, int(number)
    else:
        raise InvalidInput(f"{word} is no word of a schema", hint=text)


def _add_rule(node: Schema, found: re.Match[str], message: str) -> None:
    body = {"message": message, "rule": found["rule"]} if message else {"rule": found["rule"]}
    rule: Any = body if found["mark"] is None else Marked(body, _mark(found["mark"]).gate)
    node[RULES] = [*node.get(RULES, ()), rule]
