"""Comprehensions: all, exists, map, filter and what they are made of, and sorting by a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mco.apiserver.cel import lists, spent
from mco.apiserver.cel.frame import Frame, Step
from mco.apiserver.cel.source import SORT_KEY
from mco.apiserver.cel.syntax import Node
from mco.apiserver.cel.values import NO_OVERLOAD, Failure

Plan = Callable[[Node], Step]


def fold(node: Node, plan: Plan) -> Step:
    assert node.target is not None
    initial, condition, body, result = node.args
    over = plan(node.target)
    if (key := _sort_key(body)) is not None:
        return _sorted(node.name, over, plan(key))
    begin, proceed, end = plan(initial), plan(condition), plan(result)
    advance = _growing(body, node.accumulator, plan) or plan(body)
    names = (node.name, node.second, node.accumulator)

    def step(frame: Frame) -> Any:
        values = over(frame)
        outer = _hidden(frame, names)
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
            _restore(frame, names, outer)

    return step


def _hidden(frame: Frame, names: Sequence[str]) -> dict[str, Any]:
    """What the variables of a loop hide while it runs."""
    return {name: frame.names[name] for name in names if name in frame.names}


def _restore(frame: Frame, names: Sequence[str], hidden: dict[str, Any]) -> None:
    for name in names:
        frame.names.pop(name, None)
    frame.names.update(hidden)


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


def _growing(body: Node, accumulator: str, plan: Plan) -> Step | None:
    """The step of a fold that makes a list or a map, which grows in place; None for another one."""
    if body.name == "_?_:_" and body.args[2].kind == "ident" and body.args[2].name == accumulator:
        grow, condition = _growing(body.args[1], accumulator, plan), plan(body.args[0])
        return None if grow is None else choice(condition, grow, plan(body.args[2]))
    if body.kind != "call" or not body.args or body.args[0].name != accumulator:
        return None
    if body.name == "_+_" and body.args[1].kind == "list":
        return _appending(plan(body.args[0]), plan(body.args[1]))
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


def _sorted(name: str, over: Step, key_of: Step) -> Step:
    def step(frame: Frame) -> list[Any]:
        values = over(frame)
        outer, keys = _hidden(frame, (name,)), []
        try:
            for value in values:
                frame.check()
                frame.names[name] = value
                keys.append(key_of(frame))
                frame.cost += spent.LIST + 1
        finally:
            _restore(frame, (name,), outer)
        frame.cost += spent.comparing(keys)
        frame.check()
        return lists.sorted_by(values, keys)

    return step


def choice(condition: Step, then: Step, otherwise: Step) -> Step:
    def step(frame: Frame) -> Any:
        decided = condition(frame)
        if not isinstance(decided, bool):
            raise Failure(NO_OVERLOAD)
        return then(frame) if decided else otherwise(frame)

    return step
