"""An expression of a rule, compiled and checked for the place of a schema where it stands."""

from __future__ import annotations

import functools

import msgspec

from mco.apiserver.cel import check, cost, environment
from mco.apiserver.cel.declared import Declared
from mco.apiserver.cel.environment import CompileError, InstantiationError, Program
from mco.apiserver.cel.syntax import Checked, Node

_KEPT = 1024
"""Expressions; the definitions of an installation have some three hundred."""


class Compiled(msgspec.Struct, frozen=True):
    """`cost` is the most that it may be, by the schema; `fields` those of `self` and `oldSelf` that
    it looks at, None: all."""

    program: Program
    cost: int
    fields: frozenset[str] | None


@functools.lru_cache(maxsize=_KEPT)
def compile_rule(source: str, declared: Declared, *, optional: bool) -> Compiled:
    """Raises CompileError with the real server's text.

    Milliseconds each: a definition that was checked is then served, and often installed again, so that what
    was compiled is kept."""
    names = ("oldSelf",) if optional else ()
    parsed = environment.parse(source, names)
    scope = {"self": declared, "oldSelf": None if optional else declared}
    found = check.follow(parsed, scope)
    variables = {"self": declared.text, **found.variables}
    if not optional:
        variables["oldSelf"] = declared.text
    problems = check.report(found.problems, parsed, source)
    try:
        program = environment.compile_expression(source, variables, names)
    except InstantiationError:
        raise
    except CompileError as error:
        raise CompileError("\n".join(dict.fromkeys((*problems, error.message)))) from None
    if problems:
        raise CompileError("\n".join(problems))
    estimate = cost.estimate(program.checked, found.types, declared)
    return Compiled(program, estimate, _looked_at(program.checked))


def _looked_at(checked: Checked) -> frozenset[str] | None:
    """The fields that are selected of self and oldSelf, None when one of them is used whole."""
    nodes = list(checked.nodes())
    selected = [node.name for node in nodes if node.kind == "select" and _is_self(node.target)]
    uses = sum(map(_is_self, nodes))
    return frozenset(selected) if selected and uses == len(selected) else None


def _is_self(node: Node | None) -> bool:
    return node is not None and node.kind == "ident" and node.name in ("self", "oldSelf")


def uses_old(compiled: Compiled) -> bool:
    return any(node.kind == "ident" and node.name == "oldSelf" for node in compiled.program.checked.nodes())
