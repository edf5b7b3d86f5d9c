"""Runs a checked expression: each node becomes a function of the variables, once.

Costs are counted on the way as the original counts them, so that what a short-circuit leaves out is free.
The parser and the type check are the compiler's (`environment`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mco.apiserver.cel import functions, lists, spent, text
from mco.apiserver.cel.operators import CONVERSIONS, OPERATORS, entry
from mco.apiserver.cel.source import SORT_KEY
from mco.apiserver.cel.syntax import Checked, Node
from mco.apiserver.cel.values import NO_OVERLOAD, NONE, Failure, Maybe, TypeName, find

Step = Callable[["Frame"], Any]

TYPES = {
    name: TypeName(name)
    for name in (
        *("int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"),
        *("google.protobuf.Timestamp", "google.protobuf.Duration", "optional_type"),
        *("net.IP", "net.CIDR", "kubernetes.URL", "kubernetes.Quantity", "kubernetes.Semver"),
    )
}


class OutOfBudget(Exception):
    """The expression costs more than one call may."""


class Frame:
    """One evaluation: its variables, what it has cost, and what it may."""

    __slots__ = ("cost", "limit", "names")

    def __init__(self, names: Mapping[str, Any], limit: int) -> None:
        self.names = dict(names)
        self.cost = 0
        self.limit = limit

    def check(self) -> None:
        """Raises OutOfBudget."""
        if self.cost > self.limit:
            raise OutOfBudget


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
            return _fold(node)
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
        if not isinstance(value, dict | Maybe):
            raise Failure(NO_OVERLOAD)
        return entry(value, field)

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
            return _choice(*steps)
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
            result = work(left, right)
            frame.cost += charge((left, right), result)
            return result

        return of_two

    def step(frame: Frame) -> Any:
        args = [each(frame) for each in steps]
        result = work(*args)
        frame.cost += charge(args, result)
        return result

    return step


def _work(node: Node) -> Callable[..., Any]:
    if node.name in OPERATORS:
        return OPERATORS[node.name]
    if node.target is None and node.name in CONVERSIONS:
        return CONVERSIONS[node.name]
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


def _choice(condition: Step, then: Step, otherwise: Step) -> Step:
    def step(frame: Frame) -> Any:
        decided = condition(frame)
        if not isinstance(decided, bool):
            raise Failure(NO_OVERLOAD)
        return then(frame) if decided else otherwise(frame)

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


def _fold(node: Node) -> Step:
    assert node.target is not None
    initial, condition, body, result = node.args
    over = _step(node.target)
    if (key := _sort_key(body)) is not None:
        return _sorted(node.name, over, key)
    begin, proceed, end = _step(initial), _step(condition), _step(result)
    advance = _growing(body, node.accumulator) or _step(body)
    names = (node.name, node.second, node.accumulator)

    def step(frame: Frame) -> Any:
        values = over(frame)
        outer = {name: frame.names[name] for name in names if name in frame.names}
        # A literal is shared between evaluations, and accumulators grow in place.
        start = begin(frame)
        frame.names[node.accumulator] = start.copy() if isinstance(start, list | dict) else start
        try:
            for first, second in _elements(values, both=bool(node.second)):
                frame.check()
                frame.names[node.name] = first
                if node.second:
                    frame.names[node.second] = second
                if not _goes_on(proceed, frame):
                    break
                try:
                    frame.names[node.accumulator] = advance(frame)
                except Failure as failure:
                    frame.names[node.accumulator] = failure
            return end(frame)
        finally:
            for name in names:
                frame.names.pop(name, None)
            frame.names.update(outer)

    return step


def _elements(values: Any, *, both: bool) -> Any:
    if isinstance(values, list):
        return enumerate(values) if both else ((value, None) for value in values)
    if isinstance(values, dict):
        return values.items() if both else ((key, None) for key in values)
    raise Failure(NO_OVERLOAD)


def _goes_on(proceed: Step, frame: Frame) -> bool:
    try:
        return proceed(frame) is not False
    except Failure:
        return True


def _growing(body: Node, accumulator: str) -> Step | None:
    """The step of a fold that makes a list or a map, which grows in place; None for another one."""
    if body.name == "_?_:_" and body.args[2].kind == "ident" and body.args[2].name == accumulator:
        grow, condition = _growing(body.args[1], accumulator), _step(body.args[0])
        return None if grow is None else _choice(condition, grow, _step(body.args[2]))
    if body.kind != "call" or not body.args or body.args[0].name != accumulator:
        return None
    if body.name == "_+_" and body.args[1].kind == "list":
        return _appending(_step(body.args[0]), _step(body.args[1]))
    return None


def _appending(accumulator: Step, more: Step) -> Step:
    def step(frame: Frame) -> Any:
        grown = accumulator(frame)
        grown.extend(more(frame))
        frame.cost += 1
        return grown

    return step


def _sort_key(body: Node) -> Node | None:
    if body.name == "_?_:_" and body.args[0].name == SORT_KEY:
        return body.args[0].args[0]
    return None


def _sorted(name: str, over: Step, key: Node) -> Step:
    key_of = _step(key)

    def step(frame: Frame) -> list[Any]:
        values = over(frame)
        outer = frame.names.get(name, NONE)
        keys = []
        for value in values:
            frame.names[name] = value
            keys.append(key_of(frame))
            frame.cost += spent.LIST + 1
        frame.names[name] = outer
        frame.cost += 1
        return lists.sorted_by(values, keys)

    return step
