"""An expression as the compiler gets it, and the compiler's mistakes told of the expression as it was given.

Kubernetes's CEL has what the compiler does not know or cannot be told; other words of the same length
stand for it, so that positions stay."""

from __future__ import annotations

import re

from mco.apiserver.cel.library import MEMBERS

PRESENT = "hAs"
"""Stands for has() where only types are checked: the compiler takes `has(a.b)` with a variable `a.b` for the
variable."""
TEXT = "strinG"
"""Stands for string(), which takes types of Kubernetes too."""
SORT_KEY = "sortKey__"
"""`l.sortBy(e, key)` is checked as `l.filter(e, sortKey__(key))`."""

_TOKEN = re.compile(
    r"""(?P<string>[rRbB]{0,2}(?:'{3}.*?'{3}|"{3}.*?"{3}|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"))"""
    r"""|(?P<optional>format\.(?:\w+\(\)\.validate|named)\()|(?P<has>\bhas)(?=\s*\()"""
    r"""|(?<=\.)(?P<one>exists_one)(?=\s*\(\s*\w+\s*,\s*\w+\s*,)"""
    r"""|(?<![.\w])(?P<text>string)(?=\s*\()|(?<=\.)(?P<sort>sortBy)(?P<head>\s*\(\s*\w+\s*,)""",
    re.DOTALL,
)


class Source:
    """`format.x().validate(t)` is an optional list, but declared functions cannot return optionals: the call
    that makes one is put around it."""

    def __init__(self, given: str, *, checking: bool = False) -> None:
        self._given = given
        self._added: list[tuple[int, int]] = []
        out: list[str] = []
        at = 0
        closing: list[int] = []
        for match in _TOKEN.finditer(given):
            while closing and closing[0] <= match.start():
                at = self._put(out, at, closing.pop(0), ")")
            if match["optional"]:
                at = self._put(out, at, match.start(), "optional.ofNonZeroValue(")
                closing = sorted([*closing, _closing(given, match.end())])
            elif match["sort"]:
                out += [given[at : match.start()], "filter", match["head"]]
                at = self._put(out, match.end(), match.end(), f"{SORT_KEY}(")
                closing = sorted([*closing, _closing(given, match.end()) - 1])
            elif match["one"]:
                # With two variables the compiler knows it by its other name.
                out += [given[at : match.start()], "existsOne"]
                at = match.end()
                self._added.append((sum(map(len, out)), -1))
            elif match["text"] or (match["has"] and checking):
                out += [given[at : match.start()], TEXT if match["text"] else PRESENT]
                at = match.end()
        while closing:
            at = self._put(out, at, closing.pop(0), ")")
        self.text = "".join(out) + given[at:]

    def _put(self, out: list[str], at: int, place: int, more: str) -> int:
        out += [self._given[at:place], more]
        self._added.append((sum(map(len, out)), len(more)))
        return place

    def relax(self, text: str, lines_before: int) -> bool:
        """Lets comparisons pass that the compiler refuses, by its message, because the two numbers are not of
        one type: the second one becomes dynamic. False when there are none."""
        places = [
            self._offset(line - lines_before, column) + len(match[1])
            for line, column, problem in _problems(text)
            if (match := _MIXED.match(problem))
        ]
        for place in sorted(places, reverse=True):
            end = _operand(self.text, place)
            self._insert(end, ")")
            self._insert(place, " dyn(")
        return bool(places)

    def _insert(self, place: int, more: str) -> None:
        self.text = self.text[:place] + more + self.text[place:]
        moved = [(at + len(more) if at >= place else at, size) for at, size in self._added]
        self._added = sorted([*moved, (place + len(more), len(more))])

    def explained(self, text: str, lines_before: int) -> str:
        """The compiler's message, told of the expression as it was given."""
        problems = _problems(text)
        if not problems:
            return _STATUS.sub("", text).removesuffix(" [INVALID_ARGUMENT]")
        shown = []
        for line, column, problem in problems:
            at = self.original(self._offset(line - lines_before, column))
            if undeclared := _UNDECLARED.search(problem):
                at -= len(undeclared[1].rpartition(".")[0])
            shown.append((at, _worded(problem)))
        return "\n".join(located(self._given, at, problem) for at, problem in sorted(shown))

    def _offset(self, line: int, column: int) -> int:
        before = self.text.split("\n")[: line - 1]
        return sum(len(each) + 1 for each in before) + column - 1

    def original(self, offset: int) -> int:
        """The place in the expression as given of one in `text`."""
        return offset - sum(size for at, size in self._added if at <= offset)


_END = re.compile(r"&&|\|\||[<>]=?|==|!=|[?:,]|\bin\b")


def _operand(source: str, at: int) -> int:
    """Where the operand of a comparison ends that begins here."""
    depth = 0
    while at < len(source):
        token = _TOKEN.match(source, at)
        if token and token["string"]:
            at = token.end()
            continue
        if depth == 0 and _END.match(source, at):
            return at
        depth += {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}.get(source[at], 0)
        if depth < 0:
            return at
        at += 1
    return at


def located(source: str, offset: int, text: str) -> str:
    """A problem as the compiler prints it: where it is, the line, and a mark below."""
    before = source[:offset]
    line, column = before.count("\n"), offset - (before.rfind("\n") + 1)
    shown = source.split("\n")[line]
    # Wide characters have wide dots below them.
    marks = "".join("." if len(c.encode()) == 1 else "\uff0e" for c in shown[:column]).ljust(column, ".")
    return f"ERROR: <input>:{line + 1}:{column + 1}: {text}\n | {shown}\n | {marks}^"


def _closing(source: str, at: int) -> int:
    """Behind the parenthesis that closes the one before `at`."""
    depth = 1
    while at < len(source) and depth:
        match = _TOKEN.match(source, at)
        if match and match["string"]:
            at = match.end()
            continue
        depth += {"(": 1, ")": -1}.get(source[at], 0)
        at += 1
    return at


_STATUS = re.compile(r"\A[A-Z_]+: ")
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*?)(?:\n \|.*)?\Z", re.DOTALL)
_OVERLOAD = re.compile(r"found no matching overload for '(\w[\w.]*)' applied to '\(([^']*)\)'")
_MIXED = re.compile(
    r"found no matching overload for '_(<=?|>=?)_' applied to '\((?:int|uint|double), (?:int|uint|double)\)'"
)
_OPERAND = re.compile(r"expression of type '(.*)' cannot be the operand of a select operation")
_MEMBERS = MEMBERS | {"contains", "endsWith", "startsWith", "matches", "hasValue", "value", "orValue"}
_UNDECLARED = re.compile(r"undeclared reference to '([\w.]+\.\w+)'")


def _problems(text: str) -> list[tuple[int, int, str]]:
    """Lines and columns with what is wrong there; nothing when the message is of another form."""
    text = _STATUS.sub("", text).removesuffix(" [INVALID_ARGUMENT]")
    found = [_ERROR.match(part) for part in re.split(r"(?m)^(?=ERROR: )", text) if part]
    return [(int(m[1]), int(m[2]), m[3]) for m in found if m] if all(found) else []


def _worded(problem: str) -> str:
    """In the words of the original."""
    problem = _OPERAND.sub(r"type '\1' does not support field selection", problem)
    problem = _UNDECLARED.sub(_first_name, _OVERLOAD.sub(_member_form, problem))
    return problem.replace("null_type", "null").replace(f"'{TEXT}'", "'string'")


def _first_name(match: re.Match[str]) -> str:
    return f"undeclared reference to '{match[1].partition('.')[0]}'"


def _member_form(match: re.Match[str]) -> str:
    """The receiver of a member function stands before the parenthesis."""
    name, kinds = match[1], match[2]
    if name not in _MEMBERS:
        return match[0]
    receiver, _, rest = kinds.partition(", ")
    return f"found no matching overload for '{name}' applied to '{receiver}.({rest})'"
