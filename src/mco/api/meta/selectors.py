"""Label selectors: parsed once, matched often.

`selector()` builds one from the API's `LabelSelector`, `parse()` from the text of `kubectl -l` and of the
`labelSelector` query parameter. Semantics are Kubernetes': requirements are joined by AND; `NotIn` and `!=`
also match objects that lack the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from mco.api.meta.objects import LabelSelector
from mco.base.errors import InvalidInput

_NAME = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)\Z")
_PREFIX = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?\Z")
_SET = re.compile(r"(?P<key>\S+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)\Z")
_EQUALITY = re.compile(r"(?P<key>[^=!\s]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^=!\s]*)\Z")


class Requirement(msgspec.Struct, frozen=True):
    """One test of one label: operator `in`, `notin`, `exists` or `doesnotexist`."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case "in":
                return self.key in labels and labels[self.key] in self.values
            case "notin":
                return self.key not in labels or labels[self.key] not in self.values
            case "exists":
                return self.key in labels
            case _:
                return self.key not in labels


class Selector(msgspec.Struct, frozen=True):
    """A conjunction of requirements; `nothing` overrides them."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.nothing:
            return False
        return all(requirement.matches(labels or {}) for requirement in self.requirements)


NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


def selector(source: LabelSelector | None) -> Selector:
    """The selector of an API field. None selects nothing, an empty one everything.

    Raises InvalidInput for an unknown operator, a value list that does not fit it, or a malformed key."""
    if source is None:
        return NOTHING
    requirements = [
        _requirement(key, "in", (value,)) for key, value in sorted((source.match_labels or {}).items())
    ]
    for expression in source.match_expressions or ():
        operator = expression.operator.lower()
        if expression.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            raise InvalidInput(
                f'"{expression.operator}" is not a valid label selector operator',
                hint="use In, NotIn, Exists or DoesNotExist",
            )
        requirements.append(_requirement(expression.key, operator, expression.values or ()))
    return Selector(tuple(requirements))


def parse(text: str) -> Selector:
    """The selector of a query parameter, as `a=b,c!=d,e in (f,g),!h`; the empty text selects everything."""
    requirements = []
    for part in filter(None, (piece.strip() for piece in re.split(r",(?![^(]*\))", text))):
        if match := _SET.match(part):
            values = tuple(value.strip() for value in match["values"].split(","))
            requirements.append(_requirement(match["key"], match["op"], values))
        elif match := _EQUALITY.match(part):
            operator = "notin" if match["op"] == "!=" else "in"
            requirements.append(_requirement(match["key"], operator, (match["value"],)))
        elif part.startswith("!"):
            requirements.append(_requirement(part[1:].strip(), "doesnotexist", ()))
        else:
            requirements.append(_requirement(part, "exists", ()))
    return Selector(tuple(requirements))


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    prefix, slash, name = key.rpartition("/")
    if not _NAME.match(name) or (slash and not _PREFIX.match(prefix)):
        raise InvalidInput(f'invalid label key "{key}" in a selector')
    if operator in ("in", "notin") and not values:
        raise InvalidInput(f"for 'in', 'notin' operators, values set can't be empty (key {key})")
    if operator in ("exists", "doesnotexist") and values:
        raise InvalidInput(f"values set must be empty for exists and does not exist (key {key})")
    for value in values:
        if value and not _NAME.match(value):
            raise InvalidInput(f'invalid label value "{value}" for key {key} in a selector')
    return Requirement(key, operator, frozenset(values))
