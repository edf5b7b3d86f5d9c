"""The evaluator behind rules: functions of Kubernetes, types from the schema, costs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.api.crds import definitions
from mco.apiserver.cel import environment, numbers
from mco.apiserver.cel.declared import declare, escaped, in_order_of
from mco.apiserver.cel.environment import CompileError
from mco.apiserver.cel.frame import OutOfBudget
from mco.apiserver.cel.values import Failure
from mco.apiserver.schema.definition import rule_causes
from mco.apiserver.schema.expressions import compile_rule
from mco.apiserver.schema.validations import RULES, has_rules


def evaluate(source: str, **variables: Any) -> Any:
    program = environment.compile_expression(source, dict.fromkeys(variables, "dyn"))
    return program.run(variables).value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("ip('192.168.0.1').isGlobalUnicast()", True),
        ("ip('127.0.0.1').isLoopback()", True),
        ("ip('::1').family()", 6),
        ("ip('0.0.0.0').isUnspecified()", True),
        ("ip('224.0.0.1').isLinkLocalMulticast()", True),
        ("ip('fe80::1').isLinkLocalUnicast()", True),
        ("ip('::ffff:1.2.3.4').family() == 4 || true", True),
        ("isIP('1.2.3')", False),
        ("isIP('01.2.3.4')", False),
        ("isIP('::ffff:1.2.3.4')", False),
        ("isIP('fe80::1%eth0')", False),
        ("ip.isCanonical('2001:DB8::1')", False),
        ("ip('2001:DB8::1') == ip('2001:db8::1')", True),
        ("isCIDR('10.0.0.0/08')", False),
        ("isCIDR('10.0.0.0')", False),
        ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", True),
        ("cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", True),
        ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", True),
        ("cidr('10.0.0.0/8').containsCIDR(cidr('0.0.0.0/0'))", False),
        ("cidr('10.0.0.0/8').containsIP('::1')", False),
        ("isURL('a/b')", False),
        ("isURL('/a/b')", True),
        ("url('https://u:p@[::1]:80/a?b=c&b=d#e').getHostname()", "::1"),
        ("url('https://u:p@[::1]:80/a?b=c&b=d#e').getHost()", "[::1]:80"),
        ("url('https://h:80/a').getPort()", "80"),
        ("url('https://h/a?b=c&b=d').getQuery()", {"b": ["c", "d"]}),
        ("quantity('1.5Gi').asInteger()", 1610612736),
        ("sign(quantity('-1'))", -1),
        ("quantity('1m').isInteger()", False),
        ("quantity('50k').add(quantity('20k')) == quantity('70k')", True),
        ("quantity('50k').sub(20000) == quantity('30k')", True),
        ("quantity('1e3').compareTo(quantity('1k'))", 0),
        ("quantity('500m').asApproximateFloat()", 0.5),
        ("isQuantity('1Kib')", False),
        ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", True),
        ("semver('1.2.3').minor()", 2),
        ("isSemver('v1.0.0')", False),
        ("[1, 3, 2].isSorted()", False),
        ("['a', 'b'].max()", "b"),
        ("[1.5, 2.5].sum()", 4.0),
        ("[1, 2, 1].lastIndexOf(1)", 2),
        ("[1, 2, 1].distinct()", [1, 2]),
        ("[[1], [2, 3]].flatten()", [1, 2, 3]),
        ("[3, 1, 2].sort()", [1, 2, 3]),
        ("[3, 1, 2].slice(1, 3)", [1, 2]),
        ("'abc'.substring(1, 2)", "b"),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("'aXbX'.replace('X', '', 1)", "abX"),
        ("'ÄB'.lowerAscii()", "Äb"),
        ("'a1b22'.findAll('[0-9]+', 1)", ["1"]),
        ("'%s %d %.1f %x %b %%'.format([['a'], 2, 0.25, 255, true])", '["a"] 2 0.2 ff 1 %'),
        ("strings.quote('a\"b')", '"a\\"b"'),
        ("format.dns1035Label().validate('1a').hasValue()", True),
        ("format.qualifiedName().validate('a.b/c').hasValue()", False),
        ("format.labelValue().validate('a b').value()[0].startsWith('a valid label')", True),
        ("format.uuid().validate('x').hasValue()", True),
        ("'format.uuid().validate(' + '1)'", "format.uuid().validate(1)"),
        ("{'a': 1}.?b.orValue(2)", 2),
        ("[1, 2].exists(i, v, i == v)", False),
        ("sets.intersects([1], [1, 2])", True),
    ],
)  # fmt: skip
def test_functions(source: str, value: Any) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("ip('x') == ip('y')", 'IP Address "x" parse error during conversion from string'),
        ("[].min() == 1", "min called on empty list"),
        ("'abc'.charAt(7) == ''", "index out of range: 7"),
        ("quantity('x') == quantity('1')", "quantities must match the regular expression"),
        ("self.y == 1", "no such key: y"),
        ("self.l[3] == 1", "index out of bounds: 3"),
        ("self.s + 1 == 2", "no such overload"),
        ("self.s.family() == 4", "no such overload"),
        ("1 / (1 - 1) == 1", "division by zero"),
        ("9223372036854775807 + self.l[0] == 1", "integer overflow"),
    ],
)
def test_failures(source: str, text: str) -> None:
    with pytest.raises(Failure, match=text.replace("(", "\\(")):
        evaluate(source, self={"s": "a", "l": [1]})


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("plain", "plain"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("a.b-c/d", "a__dot__b__dash__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("1a", ""),
        ("a b", ""),
    ],
)
def test_names_in_rules(name: str, word: str) -> None:
    assert escaped(name) == word


TIMES = {
    "type": "object",
    "properties": {
        "at": {"type": "string", "format": "date-time"},
        "all": {"type": "array", "items": {"type": "string", "format": "date-time"}, "maxItems": 5},
        "day": {"type": "string", "format": "date"},
        "by": {
            "type": "object",
            "additionalProperties": {"type": "string", "format": "duration"},
            "maxProperties": 5,
        },
    },
}


@pytest.mark.parametrize(
    "rule",
    [
        "self.at > timestamp('2025-01-01T00:00:00Z')",
        "self.all.all(t, t.getFullYear() == 2026)",
        "self.all[0] == self.at",
        "self.day < self.at",
        "self.by.all(k, self.by[k] < duration('2h'))",
        "has(self.at) && !has(self.by.x)",
        "(has(self.day) ? self.day : self.at).getHours() == 0",
    ],
)
def test_times_are_times(rule: str) -> None:
    declared = declare(TIMES)
    assert declared is not None and declared.convert is not None
    value = {
        "at": "2026-01-02T03:04:05Z",
        "all": ["2026-01-02T04:04:05+01:00"],
        "day": "2026-01-01",
        "by": {"a": "90m"},
    }
    compiled = compile_rule(rule, declared, optional=False)
    assert compiled.program.kind == "bool"
    assert compiled.program.run({"self": declared.convert(value)}).value is True


def test_a_mistake_is_told_of_the_expression_as_given() -> None:
    source = "format.uuid().validate(self.id).hasValue() &&\n  self.size > 'a'"
    declared = declare(
        {"type": "object", "properties": {"id": {"type": "string"}, "size": {"type": "integer"}}}
    )
    assert declared is not None
    with pytest.raises(CompileError) as caught:
        compile_rule(source, declared, optional=False)
    assert caught.value.message == (
        "ERROR: <input>:2:13: found no matching overload for '_>_' applied to '(int, string)'\n"
        " |   self.size > 'a'\n | ............^"
    )


def _rules_of(schema: Any) -> list[tuple[Any, Any]]:
    """Each rule below a schema, with the schema that has it."""
    if not isinstance(schema, dict) or not has_rules(schema):
        return []
    found = [(schema, rule) for rule in schema.get(RULES) or ()]
    for sub in (
        *(schema.get("properties") or {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
    ):
        found += _rules_of(sub)
    return found


def test_all_our_rules_compile_and_are_affordable() -> None:
    count = 0
    for body in definitions():
        for version in body["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            assert rule_causes(schema, "schema") == []
            count += len(_rules_of(schema))
    assert count > 250


def test_the_cost_is_of_what_is_there() -> None:
    schema = {
        "type": "object",
        "properties": {"l": {"type": "array", "maxItems": 1000, "items": {"type": "integer"}}},
    }
    declared = declare(schema)
    assert declared is not None
    compiled = compile_rule("self.l.all(a, self.l.all(b, a <= b))", declared, optional=False)
    costs = [compiled.program.run({"self": {"l": [1] * size}}).cost for size in (10, 100)]
    assert costs[0] < costs[1] < compiled.cost
    assert 80 < costs[1] / costs[0] < 120
    assert compiled.cost > 1_000_000


@given(st.lists(st.integers(0, 9), unique=True), st.randoms())
def test_sets_have_no_order(values: list[int], random: Any) -> None:
    schema = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}
    declared = declare(schema)
    assert declared is not None
    mixed = list(values)
    random.shuffle(mixed)
    assert in_order_of(declared, values, mixed) == values


@given(st.integers(-(2**62), 2**62), st.sampled_from(["", "m", "k", "Ki", "Mi"]))
def test_quantities_are_exact(number: int, unit: str) -> None:
    quantity = numbers.quantity(f"{number}{unit}")
    assert numbers.compare(numbers.sub(numbers.add(quantity, quantity), quantity), quantity) == 0


NESTED: list[Any] = [list(range(1000))] * 1001


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("int(self) == 1", "9" * 5000),
        ("uint(self) == 1u", "9" * 5000),
        ("double(self) > 1.0", 10**400),
        ("self[1e400] == 1", [1]),
        ("timestamp(self).getFullYear() > 1", 10**17),
        ("timestamp('0001-01-01T00:00:00Z').getHours(self) > 1", "-10:00"),
        ("duration(self) > duration('1s')", "1" * 100_000 + "x"),
        ("quantity(self).isInteger()", "1" * 100_000 + "x"),
        ("lists.range(self).size() > 1", 10**15),
        ("self.distinct().size() > 1", list(range(100_000))),
        ("self.sortBy(e, -e).size() > 1", list(range(10_000))),
        ("self.replace('', self).size() > 1", "a" * 1_000_000),
        ("self.flatten().size() > 1", NESTED),
        ("'%.999999999f'.format([self]).size() > 1", 1.0),
    ],
)
def test_what_is_made_to_break_an_evaluation_is_refused_at_once(source: str, value: Any) -> None:
    with pytest.raises((Failure, OutOfBudget, CompileError)):
        evaluate(source, self=value)


def test_quantities_have_bounds() -> None:
    assert evaluate("quantity(self) == quantity('9223372036854775807')", self="1e1000000000")
    assert evaluate("quantity(self) == quantity('1n')", self="1e-1000000000")


def test_a_loop_that_fails_gives_back_what_its_variable_hid() -> None:
    assert evaluate("[self].map(e, [2].sortBy(e, e / 0) == [] || e == self)", self=1) == [True]
