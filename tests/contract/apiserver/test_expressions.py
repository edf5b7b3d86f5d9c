"""CEL as Kubernetes has it: values, failures and refusals, one table each. Many rules share a definition."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.definitions import CRDS, define, definition
from tests.contract.apiserver.endpoint import Api, Body

TEXT: Body = {"type": "string", "maxLength": 20}
NUMBER: Body = {"type": "integer"}
FIELDS: dict[str, Body] = {
    "s": TEXT,
    "i": NUMBER,
    "d": {"type": "number"},
    "l": {"type": "array", "maxItems": 5, "items": TEXT},
    "li": {"type": "array", "maxItems": 5, "items": NUMBER},
    "ll": {"type": "array", "maxItems": 5, "items": {"type": "array", "maxItems": 5, "items": NUMBER}},
    "m": {"type": "object", "maxProperties": 5, "additionalProperties": TEXT},
    "lm": {
        "type": "array",
        "maxItems": 5,
        "items": {"type": "object", "properties": {"name": TEXT, "v": NUMBER}},
    },
    "dt": {"type": "string", "format": "date-time"},
    "dur": {"type": "string", "format": "duration"},
    "nul": {"type": "string", "nullable": True, "maxLength": 9},
    "miss": TEXT,
}
VALUES: Body = {
    "s": "hello",
    "i": 3,
    "d": 1.5,
    "l": ["b", "a", "c"],
    "li": [3, 1, 2],
    "ll": [[1, 2], [3]],
    "m": {"k": "v", "k2": "v2"},
    "lm": [{"name": "x", "v": 2}, {"name": "w", "v": 1}],
    "dt": "2024-01-02T03:04:05Z",
    "dur": "1h30m",
    "nul": None,
}


def ruled(prefix: str, rules: list[Body]) -> Body:
    return definition(prefix, {"type": "object", "properties": FIELDS, "x-kubernetes-validations": rules})


TRUE = r"""
self.i < 3.5 && self.d > 1 && 1u < 2
!has(self.nul) && !has(self.miss) && self.?nul.orValue('x') == 'x'
string(self.dur) == '5400s' && string(self.dt) == '2024-01-02T03:04:05Z'
self.dt.getHours('America/New_York') == 22 && self.dt.getDayOfWeek() == 2
string(1.0) == '1' && string(1e21) == '1e+21' && string(123456789.0) == '1.23456789e+08'
int(-1.9) == -1 && int(timestamp('1970-01-01T00:00:07Z')) == 7 && uint('4') == 4u
self.lm.sortBy(e, e.v).map(e, e.name) == ['w', 'x']
self.li.sortBy(x, -x) == [3, 2, 1] && self.l.sortBy(x, x) == self.l.sort()
lists.range(3) == [0, 1, 2] && lists.range(-1) == []
self.m.transformMap(k, v, k + v)['k'] == 'kv' && self.li.transformMap(i, v, i > 0, v * 2) == {1: 2, 2: 4}
self.m.transformMapEntry(k, v, {v: k}) == {'v': 'k', 'v2': 'k2'}
self.li.transformList(i, v, i > 0, i + v) == [2, 4]
self.li.exists_one(i, v, i == 1 && v == 1) && !self.li.existsOne(i, v, v > 1)
self.ll.flatten() == [1, 2, 3] && [[1], [1], [2]].distinct() == [[1], [2]]
self.l.first().value() == 'b' && self.l.last().value() == 'c' && ![].first().hasValue()
[duration('1m'), duration('1s')].sum() == duration('61s') && self.li.max() == 3
optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of(2)].unwrapOpt() == [2]
[?self.?miss, 'a'] == ['a'] && {?'k': self.?miss} == {} && [1, ?optional.of(2)].size() == 2
self.?s.hasValue() && self.m[?'x'].orValue('d') == 'd' && self.l[?9].or(optional.of('z')).value() == 'z'
string(ip('2001:0DB8::0001')) == '2001:db8::1' && type(ip('1.2.3.4')) == net.IP
string(cidr('10.0.0.1/8').masked()) == '10.0.0.0/8' && string(cidr('10.0.0.1/8').ip()) == '10.0.0.1'
sign(quantity('-1')) == -1 && quantity('1k') == quantity('1000') && quantity('1Gi').add(1).isInteger()
isSemver('v1.2', true) && !isSemver('v1.2') && semver('v01.02', true).minor() == 2
semver('1.2.3+a') == semver('1.2.3+b') && semver('1.2.3-1').compareTo(semver('1.2.3-a')) == -1
format.named('dns1123Label').hasValue() && !format.named('nope').hasValue()
'%s'.format([['a', 'b']]) == '["a", "b"]' && '%s'.format([{'b': 1, 'a': 2}]) == '{"a":2, "b":1}'
'%.3f'.format([1.23456]) == '1.235' && '%x'.format([-255]) == '-ff' && '%b'.format([true]) == '1'
'%X'.format([b'hi']) == '6869' && '%f'.format(['Infinity']) == '∞' && '%%'.format([]) == '%'
url('https://u:p@a.b:8080/c%20d').getHost() == 'a.b:8080' && isURL('https://a?q=%zz') && !isURL('http://a/%zz')
self.s.indexOf('l', 9) == -1 && self.s.lastIndexOf('l', 2) == 2 && '\u00a0a\u2003'.trim() == 'a'
(1 / (self.i - 3) == 1) || self.i == 3
self.li.exists(x, 1 / (x - 3) == 1 || x == 2)
self.?s.optMap(x, size(x)).value() == 5
""".strip().split("\n")  # fmt: skip


@pytest.mark.since("1.36")
async def test_what_holds(api: Api, prefix: str) -> None:
    path = await define(api, ruled(prefix, [{"rule": rule} for rule in TRUE]))
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": VALUES})
    assert reply.status == 201, reply.body


FAILURES = {
    "self.i / (self.i - 3) == 1": "division by zero",
    "self.i % (self.i - 3) == 1": "modulus by zero",
    "9223372036854775807 + self.i > 0": "integer overflow",
    "int(self.s) == 1": "type conversion error from 'string' to 'int'",
    "self.nul == 'a'": "no such key: nul",
    "self.l[7] == 'a'": "index out of bounds: 7",
    "self.m.transformMapEntry(k, v, {'same': k}).size() == 1": "insert failed: key same already exists",
    "[1].flatten(-1) == [1]": "level must be non-negative",
    "self.li.slice(-1, 1) == []": "cannot slice(-1, 1), negative indexes not supported",
    "self.li.filter(x, x > 9).min() == 1": "min called on empty list",
    "self.?miss.value() == 'a'": "optional.none() dereference",
    "semver('1.2.3.4').major() == 1": 'Invalid character(s) found in patch number "3.4"',
    "semver('x').major() == 1": "No Major.Minor.Patch elements found",
    "'%f'.format([dyn('x')]) == ''": (
        "error during formatting: fixed-point clause can only be used on doubles, was given string"
    ),
}


@pytest.mark.since("1.36")
async def test_what_fails(api: Api, prefix: str) -> None:
    path = await define(api, ruled(prefix, [{"rule": rule} for rule in FAILURES]))
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": VALUES})
    expected = [f'Invalid value: "object": {text} evaluating rule: {rule}' for rule, text in FAILURES.items()]
    assert [cause["message"] for cause in reply.body["details"]["causes"]] == expected


@pytest.mark.parametrize(
    ("rule", "column", "text"),
    [
        ("duration('bogus') == self.dur", 10, "invalid duration argument"),
        ("timestamp('bogus') == self.dt", 11, "invalid timestamp argument"),
        ("self.s.matches('(')", 16, "invalid matches argument"),
        ("[1, 'a'] == [1]", 5, "expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'x'} == {}", 15, "expected type 'int' but found 'string'"),
        ("'%s %s'.format(['a']) == ''", 15, "index 1 out of range"),
        (
            "'%s'.format(['a', 1]) == ''",
            12,
            "too many arguments supplied to string.format (expected 1, got 2)",
        ),
        (
            "'%d'.format(['x']) == ''",
            14,
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'100%'.format([]) == ''", 14, "unexpected end of string"),
        ("self.i == null", 8, "found no matching overload for '_==_' applied to '(int, null)'"),
        (
            "string(quantity('1')) == ''",
            7,
            "found no matching overload for 'string' applied to '(kubernetes.Quantity)'",
        ),
    ],
)
async def test_what_is_not_even_defined(api: Api, prefix: str, rule: str, column: int, text: str) -> None:
    reply = await api.post(CRDS, ruled(prefix, [{"rule": rule, "message": "<m>"}]), dryRun="All")
    (cause,) = reply.body["details"]["causes"]
    shown = rule.replace('"', '\\"')
    assert cause["message"] == (
        f'Invalid value: {{"Rule":"{shown}","Message":"\\u003cm\\u003e","MessageExpression":"","Reason":null,'
        f'"FieldPath":"","OptionalOldSelf":null}}: compilation failed: ERROR: <input>:1:{column}: {text}\n'
        f" | {rule}\n | {'.' * (column - 1)}^"
    )


async def test_constants_that_cannot_be_converted(api: Api, prefix: str) -> None:
    reply = await api.post(CRDS, ruled(prefix, [{"rule": "int('a') == 1"}]), dryRun="All")
    (cause,) = reply.body["details"]["causes"]
    assert cause["message"].endswith(
        ": program instantiation failed: type conversion error from 'string' to 'int'"
    )


async def test_what_a_short_circuit_leaves_out_costs_nothing(api: Api, prefix: str) -> None:
    """The same loop runs away where it is evaluated."""
    numbers = {"type": "array", "items": NUMBER, "maxItems": 600}
    loop = "self.l.all(a, self.l.all(b, a + b + a + b + a + b + a + b > 0))"
    spec = {
        "type": "object",
        "properties": {"l": numbers, "on": {"type": "boolean"}},
        "x-kubernetes-validations": [{"rule": f"!self.on || {loop}"}],
    }
    path = await define(api, definition(prefix, spec))
    for on, status in ((False, 201), (True, 422)):
        body = {"metadata": {"generateName": "a"}, "spec": {"on": on, "l": [1] * 600}}
        assert (await api.post(path, body)).status == status


@pytest.mark.since("1.36")
@pytest.mark.parametrize("call", ["distinct()", "sort()", "sortBy(e, -e)"])
async def test_lists_that_are_compared_with_themselves_cost_their_square(
    api: Api, prefix: str, call: str
) -> None:
    spec = {
        "type": "object",
        "properties": {"l": {"type": "array", "items": NUMBER, "maxItems": 720}},
        "x-kubernetes-validations": [{"rule": f"self.l.{call}.size() >= 0"}],
    }
    path = await define(api, definition(prefix, spec))
    for size, status in ((600, 201), (720, 422)):
        body = {"metadata": {"generateName": "a"}, "spec": {"l": [1] * size}}
        assert (await api.post(path, body)).status == status
