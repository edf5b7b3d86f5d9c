"""Runs a checked expression: each node becomes a function of the variables, once.

Costs are counted on the way as the original counts them, so that what a short-circuit leaves out is free.
The parser and the type check are the compiler's (`environment`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mco.apiserver.cel import functions, spent, text
from mco.apiserver.cel.conversions import CONVERSIONS
from mco.apiserver.cel.folds import choice, fold
from mco.apiserver.cel.frame import Frame, Step
from mco.apiserver.cel.operators import OPERATORS, entry
from mco.apiserver.cel.syntax import Checked, Node
from mco.apiserver.cel.values import NO_OVERLOAD, Failure, Maybe, Opaque, TypeName, find

TYPES = {
    name: TypeName(name)
    for name in (
        *("int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"),
        *("google.protobuf.Timestamp", "google.protobuf.Duration", "optional_type"),
        *("net.IP", "net.CIDR", "kubernetes.URL", "kubernetes.Quantity", "kubernetes.Semver"),
    )
}


def plan(checked: Checked) -> Step:
    """Raises Failure for constants that cannot be converted."""
    return _step(checked.root)


def _step(node: Node) -> Step:
    match node.kind:
        case "constant":
            return _always(node.value)
        case "ident":
            return _ident(node.name)
        case "select":
            return _select(node)
        case "list":
            return _list(node)
        case "map":
            return _map(node)
        case "fold":
            return fold(node, _step)
    return _call(node)


def _always(value: Any) -> Step:
    return lambda frame: value


def _ident(name: str) -> Step:
    def step(frame: Frame) -> Any:
        frame.cost += 1
        if name in frame.names:
            value = frame.names[name]
            if type(value) is Failure:
                raise value
            return value
        if name in TYPES:
            return TYPES[name]
        raise Failure(f"no such attribute(s): {name}")

    return step


def _dotted(node: Node) -> str:
    """`a.b.c`, or the empty text for anything else."""
    if node.kind == "ident":
        return node.name
    if node.kind != "select" or node.target is None or node.test:
        return ""
    before = _dotted(node.target)
    return f"{before}.{node.name}" if before else ""


def _select(node: Node) -> Step:
    assert node.target is not None
    if (name := _dotted(node)) in TYPES:
        return _always(TYPES[name])
    operand, field = _step(node.target), node.name

    def test(frame: Frame) -> bool:
        value = operand(frame)
        while isinstance(value, Maybe):
            if not value.held:
                return False
            value = value.held[0]
        if not isinstance(value, dict):
            raise Failure(NO_OVERLOAD)
        return bool(find(value, field).held)

    def step(frame: Frame) -> Any:
        value = operand(frame)
        frame.cost += 1
        if isinstance(value, dict | Maybe):
            return entry(value, field)
        if isinstance(value, Opaque) and field in value.fields:
            return value.fields[field]
        raise Failure(f"no such key: {field}" if value is None else NO_OVERLOAD)

    return test if node.test else step


def _list(node: Node) -> Step:
    steps, optional = [_step(arg) for arg in node.args], node.optional
    if not optional and all(arg.kind == "constant" for arg in node.args):
        values = [arg.value for arg in node.args]
        return lambda frame: values

    def step(frame: Frame) -> list[Any]:
        found: list[Any] = []
        for index, each in enumerate(steps):
            value = each(frame)
            if index in optional:
                found.extend(value.held)
            else:
                found.append(value)
        frame.cost += spent.LIST
        return found

    return step


def _map(node: Node) -> Step:
    steps, optional = [_step(arg) for arg in node.args], node.optional

    def step(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for index in range(0, len(steps), 2):
            key, value = steps[index](frame), steps[index + 1](frame)
            if index // 2 not in optional:
                functions.insert(made, key, value)
            elif value.held:
                functions.insert(made, key, value.held[0])
        frame.cost += spent.MAP
        return made

    return step


def _call(node: Node) -> Step:
    operands = [*([node.target] if node.target is not None else []), *node.args]
    steps = [_step(operand) for operand in operands]
    match node.name:
        case "_&&_" | "_||_":
            return _junction(steps[0], steps[1], decisive=node.name == "_||_")
        case "_?_:_":
            return choice(*steps)
        case "@not_strictly_false":
            return _not_strictly_false(steps[0])
        case "or" | "orValue":
            return _either(steps[0], steps[1], whole=node.name == "or")
    work = _work(node)
    if node.name in ("find", "findAll") and node.args[0].kind == "constant":
        text.compiled(node.args[0].value)
    if node.name in CONVERSIONS and node.args and node.args[0].kind == "constant":
        value = work(node.args[0].value)
        return lambda frame: value
    return _applied(work, steps, spent.CHARGES.get(node.name, spent.one))


def _applied(work: Callable[..., Any], steps: list[Step], charge: spent.Charge) -> Step:
    if len(steps) == 2:
        first, second = steps

        def of_two(frame: Frame) -> Any:
            left, right = first(frame), second(frame)
            frame.cost += charge((left, right))
            frame.check()
            return work(left, right)

        return of_two

    def step(frame: Frame) -> Any:
        args = [each(frame) for each in steps]
        frame.cost += charge(args)
        frame.check()
        return work(*args)

    return step


def _work(node: Node) -> Callable[..., Any]:
    if node.name in OPERATORS:
        return OPERATORS[node.name]
    if node.target is None and node.name in CONVERSIONS:
        return functions.guarded(CONVERSIONS[node.name])
    return functions.named(node.name, member=node.target is not None)


def _junction(left: Step, right: Step, *, decisive: bool) -> Step:
    """Of two conditions, whichever decides; an error of the other one does not count then."""

    def step(frame: Frame) -> Any:
        problem: Failure | None = None
        for each in (left, right):
            try:
                value = each(frame)
            except Failure as failure:
                problem = problem or failure
                continue
            if value is decisive:
                return decisive
            if not isinstance(value, bool):
                problem = problem or Failure(NO_OVERLOAD)
        if problem is not None:
            raise problem
        return not decisive

    return step


def _not_strictly_false(operand: Step) -> Step:
    def step(frame: Frame) -> bool:
        frame.cost += 1
        try:
            return operand(frame) is not False
        except Failure:
            return True

    return step


def _either(first: Step, second: Step, *, whole: bool) -> Step:
    """`or` gives optionals, `orValue` what is in them."""

    def step(frame: Frame) -> Any:
        value = first(frame)
        if not isinstance(value, Maybe):
            raise Failure(NO_OVERLOAD)
        if not value.held:
            return second(frame)
        return value if whole else value.held[0]

    return step
