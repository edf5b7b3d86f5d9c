"""Compiles and evaluates expressions: the only place that talks to the evaluator.

There are two environments. The one that runs knows the functions of `library`, with values of Kubernetes's
own types as maps. The one that only checks knows their exact types, and those of variables, so that a
mistake is found when a rule is defined."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from mco.apiserver.cel import library, syntax
from mco.base.errors import InvalidInput

try:
    from cel_expr_python import cel
except ImportError:  # Not built for every platform; the server then refuses definitions with rules.
    cel = None

AVAILABLE = cel is not None
_EXTENSIONS = ("two-var-comprehensions", "sets", "optional")
VARIABLES = ("self", "oldSelf", "object", "oldObject", "request", "params", "namespaceObject", "variables")
"""What an expression may be given. Those that it may not use are refused by the check."""


class CompileError(InvalidInput):
    """The message is the compiler's, one `ERROR: ...` for each mistake."""


class Failure(Exception):
    """An evaluation that ended in an error; the text is the real server's where there is one."""


class Program(msgspec.Struct, frozen=True):
    """`source` as given; `checked` is its parsed form; `kind` the type of its result (`bool`, `string`)."""

    source: str
    checked: syntax.Checked
    kind: str
    _expression: Any

    def run(self, activation: Any) -> Any:
        """The value. Raises Failure."""
        return _value(self._expression.eval(activation))


def activation(values: Mapping[str, Any]) -> Any:
    """Variables as programs take them; one serves many programs."""
    return _running().Activation(values)


def parse(source: str, optional: tuple[str, ...] = ()) -> syntax.Checked:
    """The expression by itself, without any check. Raises CompileError for one that cannot be parsed."""
    written = _Source(source)
    try:
        _running().compile(written.text, True)
        parsed = _running().compile(_wrap(written.text, optional), True)
    except RuntimeError as error:
        raise CompileError(written.explained(str(error), 0)) from None
    return syntax.decode(parsed.serialize())


def compile_expression(
    source: str,
    variables: Mapping[str, str],
    optional: tuple[str, ...] = (),
    wraps: Mapping[int, syntax.Wrap] | None = None,
) -> Program:
    """`variables` are names, also dotted ones as `self.size`, with their types as in `library`; those in
    `optional` are optional values of it, which are passed as a list of none or one under the name with `__`
    behind. `wraps` are calls to put around nodes of what `parse` gave.

    Raises CompileError."""
    checking = _checking(tuple(sorted(variables.items())), optional)
    kind = _compiled(checking, _Source(source, checking=True), optional).return_type().name().lower()
    running = _running()
    expression = _compiled(running, _Source(source), optional)
    serialized = expression.serialize()
    if wraps:
        expression = running.deserialize(syntax.wrapped(serialized, dict(wraps)))
    return Program(source, syntax.decode(serialized), kind, expression)


def _compiled(environment: Any, source: _Source, optional: tuple[str, ...]) -> Any:
    try:
        return environment.compile(_wrap(source.text, optional))
    except RuntimeError as error:
        raise CompileError(source.explained(str(error), int(bool(optional)))) from None


def _wrap(source: str, optional: tuple[str, ...]) -> str:
    """Gives optional variables their values, on lines of their own so that positions stay."""
    for name in optional:
        value = f"size({name}__) > 0 ? optional.of({name}__[0]) : optional.none()"
        source = f"[{value}].map({name}, (\n{source}\n))[0]"
    return source


_TOKEN = re.compile(
    r"""(?P<string>[rRbB]{0,2}(?:'{3}.*?'{3}|"{3}.*?"{3}|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"))"""
    r"""|(?P<validate>format\.\w+\(\)\.validate\()|(?P<has>\bhas)(?=\s*\()""",
    re.DOTALL,
)
_PRESENT = "hAs"
"""Stands for has() where only types are checked: the evaluator takes `has(a.b)` with a variable `a.b` for the
variable. As long as the original, so that positions stay."""


class _Source:
    """An expression as the evaluator gets it.

    `format.x().validate(t)` is an optional list, but a function written here cannot return optionals: the
    call that makes one is put around it."""

    def __init__(self, given: str, *, checking: bool = False) -> None:
        self._given = given
        self._added: list[tuple[int, int]] = []
        out: list[str] = []
        at = 0
        closing: list[int] = []
        for match in _TOKEN.finditer(given):
            while closing and closing[0] <= match.start():
                at = self._put(out, at, closing.pop(0), ")")
            if match["validate"]:
                at = self._put(out, at, match.start(), "optional.ofNonZeroValue(")
                closing = sorted([*closing, _closing(given, match.end())])
            elif match["has"] and checking:
                out += [given[at : match.start()], _PRESENT]
                at = match.end()
        while closing:
            at = self._put(out, at, closing.pop(0), ")")
        self.text = "".join(out) + given[at:]

    def _put(self, out: list[str], at: int, place: int, more: str) -> int:
        out += [self._given[at:place], more]
        self._added.append((sum(map(len, out)), len(more)))
        return place

    def explained(self, text: str, lines_before: int) -> str:
        """The compiler's message, told of the expression as it was given."""
        text = _STATUS.sub("", text).removesuffix(" [INVALID_ARGUMENT]")
        found = [_ERROR.match(part) for part in re.split(r"(?m)^(?=ERROR: )", text) if part]
        if not all(found):
            return text
        shown = []
        for match in filter(None, found):
            line, column = int(match[1]) - lines_before, int(match[2])
            start = len("\n".join(self.text.split("\n")[: line - 1])) + (line > 1)
            at = self._original(start + column - 1)
            if undeclared := _UNDECLARED.search(match[3]):
                at -= len(undeclared[1].rpartition(".")[0])
            problem = _OPERAND.sub(r"type '\1' does not support field selection", match[3])
            shown.append(
                located(self._given, at, _UNDECLARED.sub(_first_name, _OVERLOAD.sub(_member_form, problem)))
            )
        return "\n".join(shown)

    def _original(self, offset: int) -> int:
        return offset - sum(size for at, size in self._added if at <= offset)


def located(source: str, offset: int, text: str) -> str:
    """A problem as the compiler prints it: where it is, the line, and a mark below."""
    before = source[:offset]
    line, column = before.count("\n"), offset - (before.rfind("\n") + 1)
    lines = source.split("\n")
    return f"ERROR: <input>:{line + 1}:{column + 1}: {text}\n | {lines[line]}\n | {'.' * column}^"


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


@functools.cache
def _running() -> Any:
    return cel.NewEnv(
        config=_config(),
        variables=dict.fromkeys((*VARIABLES, *(f"{name}__" for name in VARIABLES)), cel.Type.DYN),
        functions=_functions(_running_type, implemented=True),
    )


@functools.lru_cache(maxsize=256)
def _checking(variables: tuple[tuple[str, str], ...], optional: tuple[str, ...]) -> Any:
    declared = {name: _type(kind) for name, kind in variables}
    declared |= {f"{name}__": _type("list<dyn>") for name in optional}
    return cel.NewEnv(config=_config(), variables=declared, functions=_checking_functions())


@functools.cache
def _config() -> Any:
    names = "".join(f"- name: {name}\n" for name in _EXTENSIONS)
    return cel.NewEnvConfigFromYaml(f"name: kubernetes\nextensions:\n{names}")


@functools.cache
def _checking_functions() -> Any:
    present = cel.Overload("present", return_type=cel.Type.BOOL, parameters=[cel.Type.DYN])
    return [*_functions(_type, implemented=False), cel.FunctionDecl(_PRESENT, [present])]


def _functions(type_of: Any, *, implemented: bool) -> list[Any]:
    """The library's functions. The evaluator tells overloads apart by what values look like, the check by
    their types."""
    declared = []
    for name, of_name in library.FUNCTIONS.items():
        is_typed = not implemented and any(one.takes[:1] == ("list<int>",) for one in of_name)
        gives: dict[Signature, set[str]] = {}
        chosen: dict[Signature, library.Overload] = {}
        for one in of_name:
            if is_typed and one.takes[0] == "list<dyn>":
                continue
            for takes in _spelled_out(one.takes) if implemented else (one.takes,):
                signature = (one.member, tuple(_look(kind) if implemented else kind for kind in takes))
                chosen.setdefault(signature, one)
                gives.setdefault(signature, set()).add(one.gives)
        overloads = [
            cel.Overload(
                f"{name}_{number}",
                return_type=type_of(min(gives[signature]) if len(gives[signature]) == 1 else "dyn"),
                parameters=[type_of(kind) for kind in signature[1]],
                is_member=signature[0],
                **({"impl": one.implementation} if implemented else {}),
            )
            for number, (signature, one) in enumerate(chosen.items())
        ]
        declared.append(cel.FunctionDecl(name, overloads))
    return declared


Signature = tuple[bool, tuple[str, ...]]
_ANY = ("int", "double", "string", "bool", "bytes", "timestamp", "duration", "object", "list<dyn>")


def _spelled_out(takes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """One for each kind of value that a dynamic parameter may get: the evaluator has no other way."""
    if "dyn" not in takes:
        return [takes]
    at = takes.index("dyn")
    return [(*takes[:at], kind, *takes[at + 1 :]) for kind in _ANY]


def _look(kind: str) -> str:
    """What values of a type look like to the evaluator."""
    if kind.startswith("list<"):
        return "list<dyn>"
    return "object" if kind.startswith("map<") or "." in kind else kind


@functools.cache
def _type(kind: str) -> Any:
    """`list<string>` as the evaluator's type."""
    if kind.startswith("list<"):
        return cel.Type.List(_type(kind[5:-1]))
    if kind.startswith("map<"):
        key, _, value = kind[4:-1].partition(",")
        return cel.Type.Map(_type(key), _type(value))
    if kind == "object":
        return cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    if "." in kind:
        return cel.Type.AbstractType(kind)
    return getattr(cel.Type, kind.upper())


@functools.cache
def _running_type(kind: str) -> Any:
    """What values look like: all lists are alike, and types of Kubernetes are maps."""
    if kind.startswith("list<"):
        return cel.Type.List(cel.Type.DYN)
    if kind.startswith("map<") or "." in kind:
        return cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    return _type(kind)


_STATUS = re.compile(r"\A[A-Z_]+: ")
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*?)(?:\n \|.*)?\Z", re.DOTALL)
_OVERLOAD = re.compile(r"found no matching overload for '(\w[\w.]*)' applied to '\(([^']*)\)'")

_OPERAND = re.compile(r"expression of type '(.*)' cannot be the operand of a select operation")
_MEMBERS = library.MEMBERS | {"contains", "endsWith", "startsWith", "matches", "hasValue", "value", "orValue"}

_UNDECLARED = re.compile(r"undeclared reference to '([\w.]+\.\w+)'")


def _first_name(match: re.Match[str]) -> str:
    return f"undeclared reference to '{match[1].partition('.')[0]}'"


def _member_form(match: re.Match[str]) -> str:
    """The receiver of a member function stands before the parenthesis."""
    name, kinds = match[1], match[2]
    if name not in _MEMBERS:
        return match[0]
    receiver, _, rest = kinds.partition(", ")
    return f"found no matching overload for '{name}' applied to '{receiver}.({rest})'"


_NO_KEY = re.compile(r'Key not found in map : "?(.*?)"?\Z')
_NO_INDEX = re.compile(r"Index error: index=(-?\d+) size=\d+")


def _value(result: Any) -> Any:
    if result.type() == cel.Type.ERROR:
        text = _STATUS.sub("", str(result.plain_value()))
        if found := _NO_KEY.search(text):
            text = f"no such key: {found[1]}"
        elif found := _NO_INDEX.search(text):
            text = f"index out of bounds: {found[1]}"
        elif text.startswith(("No matching overloads found", "Applying SELECT")):
            text = "no such overload"
        elif text == "divide by zero":
            text = "division by zero"
        raise Failure(text)
    try:
        return result.plain_value()
    except TypeError:  # An optional: nothing that a rule or a message may be.
        raise Failure("no such overload") from None
