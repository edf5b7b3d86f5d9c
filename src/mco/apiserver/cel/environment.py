"""Compiles expressions: the only place that talks to the compiler.

There are two environments. The loose one knows nothing of variables, and gives the tree that `evaluate` runs.
The one that checks knows their types, so that a mistake is found when a rule is defined."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mco.apiserver.cel import cost, evaluate, library, literals, network, syntax
from mco.apiserver.cel.frame import Frame, Step
from mco.apiserver.cel.source import PRESENT, SORT_KEY, TEXT, Source, located
from mco.apiserver.cel.values import Failure
from mco.base.errors import InvalidInput

try:
    from cel_expr_python import cel
except ImportError:  # Not built for every platform; the server then refuses definitions with rules.
    cel = None

AVAILABLE = cel is not None
_EXTENSIONS = ("two-var-comprehensions", "sets", "optional")
VARIABLES = (
    *("self", "oldSelf", "object", "oldObject", "request", "params", "namespaceObject", "variables"),
    "authorizer",
)
"""What an expression may be given. Those that it may not use are refused by the check."""


class CompileError(InvalidInput):
    """The message is the compiler's, one `ERROR: ...` for each mistake."""


class InstantiationError(CompileError):
    """The expression is sound but for a constant in it."""


class Program(msgspec.Struct, frozen=True):
    """`source` as given; `checked` is its parsed form; `kind` the type of its result (`bool`, `string`)."""

    source: str
    checked: syntax.Checked
    kind: str
    _step: Step

    def run(self, variables: Mapping[str, Any], limit: int = cost.PER_CALL) -> Result:
        """Raises Failure, and OutOfBudget when it would cost more than `limit`."""
        frame = Frame(variables, limit)
        value = self._step(frame)
        frame.check()
        return Result(value, frame.cost)


class Result(msgspec.Struct, frozen=True):
    value: Any
    cost: int


def parse(source: str, optional: tuple[str, ...] = ()) -> syntax.Checked:
    """The expression by itself, without any check. Raises CompileError for one that cannot be parsed."""
    written = Source(source)
    try:
        parsed = _loose().compile(written.text, True)
    except RuntimeError as error:
        raise CompileError(written.explained(str(error), 0)) from None
    if optional:
        parsed = _loose().compile(_wrap(written.text, optional), True)
    return _tree(parsed, optional)


def compile_expression(source: str, variables: Mapping[str, str], optional: tuple[str, ...] = ()) -> Program:
    """`variables` are names, also dotted ones as `self.size`, with their types as in `library`; those in
    `optional` are optional values of it.

    Raises CompileError."""
    strict = _compiled(
        _checking(tuple(sorted(variables.items())), optional), Source(source, checking=True), optional
    )
    written = Source(source)
    checked = _tree(_compiled(_loose(), written, optional), optional)
    if problems := literals.problems(checked):
        shown = [located(source, written.original(offset), text) for offset, text in problems]
        raise CompileError("\n".join(shown))
    try:
        step = evaluate.plan(checked)
    except Failure as failure:
        raise InstantiationError(f"program instantiation failed: {failure}") from None
    return Program(source, checked, strict.return_type().name().lower(), step)


def _compiled(environment: Any, source: Source, optional: tuple[str, ...]) -> Any:
    while True:
        try:
            return environment.compile(_wrap(source.text, optional))
        except RuntimeError as error:
            if not source.relax(str(error), len(optional)):
                raise CompileError(source.explained(str(error), len(optional))) from None


def _wrap(source: str, optional: tuple[str, ...]) -> str:
    """Says of variables that they are optional values: the compiler has no other way to declare one."""
    for name in optional:
        source = f"{_opening(name)}{source}\n))[0]"
    return source


def _opening(name: str) -> str:
    """On a line of its own, so that positions stay."""
    return f"[size({name}__) > 0 ? optional.of({name}__[0]) : optional.none()].map({name}, (\n"


def _tree(compiled: Any, optional: tuple[str, ...]) -> syntax.Checked:
    """The expression without what was put around it, with the words that it was written in."""
    checked = syntax.decode(compiled.serialize())
    root, before = checked.root, 0
    for name in optional:
        (fold, _) = root.args
        (_, element) = fold.args[2].args
        (root,) = element.args
        before += len(_opening(name))
    positions = {at: offset - before for at, offset in checked.positions.items()}
    for node in syntax.walk(root):
        if node.kind == "call" and node.name == TEXT:
            node.name = "string"
    return syntax.Checked(root, checked.types, positions)


@functools.cache
def _names_of_types() -> dict[str, Any]:
    return dict.fromkeys(library.TYPES, cel.Type.DYN)


@functools.cache
def _loose() -> Any:
    return cel.NewEnv(
        config=_config(),
        variables=dict.fromkeys((*VARIABLES, *(f"{name}__" for name in VARIABLES)), cel.Type.DYN)
        | _names_of_types(),
        functions=_functions(),
    )


@functools.lru_cache(maxsize=256)
def _checking(variables: tuple[tuple[str, str], ...], optional: tuple[str, ...]) -> Any:
    declared = {name: _type(kind) for name, kind in variables} | _names_of_types()
    declared |= {f"{name}__": _type("list<dyn>") for name in optional}
    return cel.NewEnv(config=_config(), variables=declared, functions=_checking_functions())


@functools.cache
def _config() -> Any:
    names = "".join(f"- name: {name}\n" for name in _EXTENSIONS)
    return cel.NewEnvConfigFromYaml(f"name: kubernetes\nextensions:\n{names}")


@functools.cache
def _checking_functions() -> Any:
    present = cel.Overload("present", return_type=cel.Type.BOOL, parameters=[cel.Type.DYN])
    return [*_functions(), cel.FunctionDecl(PRESENT, [present])]


@functools.cache
def _functions() -> list[Any]:
    declared = [_declared(name, of_name) for name, of_name in library.FUNCTIONS.items()]
    comparable = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")
    keys = [library.Overload((kind,), "bool", bool, member=False) for kind in comparable]
    opaque = (network.IP, network.CIDR)
    texts = [library.Overload((kind,), "string", str, member=False) for kind in (*comparable, *opaque)]
    return [*declared, _declared(SORT_KEY, keys), _declared(TEXT, texts)]


def _declared(name: str, overloads: Iterable[library.Overload]) -> Any:
    """As it is declared to the compiler."""
    return cel.FunctionDecl(
        name,
        [
            cel.Overload(
                f"{name}_{number}",
                return_type=_type(one.gives),
                parameters=[_type(kind) for kind in one.takes],
                is_member=one.member,
            )
            for number, one in enumerate(overloads)
        ],
    )


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
