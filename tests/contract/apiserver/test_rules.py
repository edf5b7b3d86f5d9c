"""Rules in CEL (x-kubernetes-validations): what a definition may say, and what its objects must satisfy."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import Any

import pytest

from tests.contract.apiserver.definitions import CRDS, define, definition
from tests.contract.apiserver.endpoint import Api, Body, Endpoint, without_type

TEXT: Body = {"type": "string", "maxLength": 64}
NUMBER: Body = {"type": "integer"}
TIME: Body = {"type": "string", "format": "date-time"}
PART: Body = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": TEXT, "count": NUMBER, "tags": {"type": "array", "items": TEXT, "maxItems": 5}},
}
FIELDS: Body = {
    "size": NUMBER,
    "ratio": {"type": "number"},
    "name": {"type": "string", "maxLength": 253},
    "namespace": TEXT,
    "a-b": NUMBER,
    "begin": TIME,
    "end": TIME,
    "period": {"type": "string", "format": "duration"},
    "data": {"type": "string", "format": "byte", "maxLength": 64},
    "limit": {"x-kubernetes-int-or-string": True, "maxLength": 20},
    "amount": TEXT,
    "labels": {"type": "object", "additionalProperties": TEXT, "maxProperties": 5},
    "numbers": {"type": "array", "items": NUMBER, "maxItems": 10},
    "set": {"type": "array", "items": TEXT, "maxItems": 10, "x-kubernetes-list-type": "set"},
    "parts": {
        "type": "array",
        "maxItems": 10,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        "items": PART,
    },
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "other": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
}


def ruled(prefix: str, *rules: Body, **fields: Body) -> Body:
    """A definition whose spec has these rules; `fields` replace some of FIELDS."""
    spec = {"type": "object", "properties": copy.deepcopy(FIELDS | fields)}
    return definition(prefix, spec | ({"x-kubernetes-validations": list(rules)} if rules else {}))


async def refusal(api: Api, body: Body) -> list[tuple[str, str]]:
    reply = await api.post(CRDS, body)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid"), reply.body
    place = "spec.validation.openAPIV3Schema.properties[spec]."
    return [(c["field"].removeprefix(place), c["message"]) for c in reply.body["details"]["causes"]]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "self.nothing == 1",
            "ERROR: <input>:1:5: undefined field 'nothing'\n | self.nothing == 1\n | ....^",
        ),
        (
            "has(self.nothing)",
            "ERROR: <input>:1:4: undefined field 'nothing'\n | has(self.nothing)\n | ...^",
        ),
        (
            "self.size == 'a'",
            "ERROR: <input>:1:11: found no matching overload for '_==_' applied to '(int, string)'\n"
            " | self.size == 'a'\n | ..........^",
        ),
        (
            "!has(self.name) || self.name > 3",
            "ERROR: <input>:1:30: found no matching overload for '_>_' applied to '(string, int)'",
        ),
        (
            "self.name.startsWith(1)",
            "found no matching overload for 'startsWith' applied to 'string.(int)'",
        ),
        ("isIP(self.size)", "found no matching overload for 'isIP' applied to '(int)'"),
        ("ip(self.name) == 'a'", "found no matching overload for '_==_' applied to '(net.IP, string)'"),
        ("self.parts.all(p, p.nothing > 1)", "undefined field 'nothing'"),
        ("self.numbers.all(n, n.nothing)", "type 'int' does not support field selection"),
        ("self.numbers[0] == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.labels.x == 1", "found no matching overload for '_==_' applied to '(string, int)'"),
        ("self.begin < 'a'", "found no matching overload for '_<_' applied to"),
        ("self.free.x == 1", "undefined field 'x'"),
        ("self.other.metadata.labels == {}", "undefined field 'labels'"),
        ("unknown(self.size)", "undeclared reference to 'unknown' (in container '')"),
        ("object.size == 1", "undeclared reference to 'object' (in container '')"),
        ("self.names.", "Syntax error: no viable alternative at input '.'"),
        ("self.name.sum() == 3", "found no matching overload for 'sum' applied to 'string.()'"),
    ],
)
async def test_a_rule_that_does_not_compile(api: Api, prefix: str, rule: str, message: str) -> None:
    ((field, text),) = await refusal(api, ruled(prefix, {"rule": rule}))
    assert field == "x-kubernetes-validations[0].rule"
    assert "compilation failed: " in text
    assert message in text


@pytest.mark.parametrize(
    ("rule", "field", "message"),
    [
        ({"rule": "self.size"}, "rule", "cel expression must evaluate to a bool"),
        ({"rule": " "}, "rule", "Required value: rule is not specified"),
        ({"rule": "true", "message": " "}, "message", "must be non-empty if specified"),
        ({"rule": "true", "message": "a\nb"}, "message", "must not contain line breaks"),
        ({"rule": "true\n"}, "", ""),
        (
            {"rule": "true ||\nfalse"},
            "message",
            "Required value: message must be specified if rule contains line breaks",
        ),
        ({"rule": "true", "reason": "Why"}, "reason", 'Unsupported value: "Why"'),
        ({"rule": "true", "fieldPath": ".nothing"}, "fieldPath", "must be a valid path"),
        ({"rule": "true", "fieldPath": ".name"}, "", ""),
        ({"rule": "true", "fieldPath": ".labels['a.b']"}, "", ""),
        ({"rule": "true", "fieldPath": ".parts[0]"}, "fieldPath", "must be a valid path"),
        (
            {"rule": "true", "messageExpression": "self.size"},
            "messageExpression",
            "messageExpression must evaluate to a string",
        ),
        (
            {"rule": "true", "messageExpression": "self.nothing"},
            "messageExpression",
            "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'nothing'",
        ),
        (
            {"rule": "true", "optionalOldSelf": True},
            "optionalOldSelf",
            "may not be set if oldSelf is not used in rule",
        ),
    ],
)
async def test_what_a_rule_may_say_of_itself(
    api: Api, prefix: str, rule: Body, field: str, message: str
) -> None:
    body = ruled(prefix, rule)
    if not field:
        await api.create(CRDS, body)
        return
    ((place, text),) = await refusal(api, body)
    assert place == f"x-kubernetes-validations[0].{field}"
    assert message in text


async def test_elements_that_cannot_be_told_apart_have_no_past(api: Api, prefix: str) -> None:
    numbers = {
        "type": "array",
        "maxItems": 10,
        "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]},
    }
    ((field, text),) = await refusal(api, ruled(prefix, numbers=numbers))
    assert field == "properties[numbers].items.x-kubernetes-validations[0].rule"
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema within" in text


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        (
            {"numbers": {"type": "array", "items": {"type": "string"}}},
            "self.numbers.all(n, self.numbers.exists_one(m, m == n))",
        ),
        ({}, "self.name.split('.').join('-').upperAscii().replace('A', 'x') == 'x-B'"),
        (
            {"labels": {"type": "object", "additionalProperties": {"type": "string"}}},
            "self.labels.all(k, self.labels.all(l, k == l || self.labels[k] != self.labels[l]))",
        ),
    ],
)
async def test_a_rule_that_may_cost_too_much(api: Api, prefix: str, fields: Body, rule: str) -> None:
    causes = await refusal(api, ruled(prefix, {"rule": rule}, **fields))
    text = (
        "Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the "
        "rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
    assert ("x-kubernetes-validations[0].rule", text) in causes


GOOD: Body = {"size": 3, "name": "a", "parts": [{"id": "x", "count": 1}], "numbers": [3, 1, 2]}


@pytest.mark.parametrize(
    ("rule", "spec", "holds"),
    [
        ("self.size > 1", {"size": 1}, False),
        ("self.limit > 3", {"limit": 2}, False),
        ("self.limit > 3", {"limit": 4}, True),
        ("self.ratio / 2.0 < 1.0", {"ratio": 1}, True),
        ("self.__namespace__ == 'x' && self.a__dash__b == 1", {"namespace": "x", "a-b": 1}, True),
        (
            "self.begin < self.end",
            {"begin": "2026-01-01T10:00:00Z", "end": "2026-01-01T12:00:00+03:00"},
            False,
        ),
        (
            "self.begin < self.end",
            {"begin": "2026-01-01T10:00:00Z", "end": "2026-01-01T12:00:00+01:00"},
            True,
        ),
        (
            "self.end - self.begin == duration('90m')",
            {"begin": "2026-01-01T10:00:00Z", "end": "2026-01-01T11:30:00Z"},
            True,
        ),
        ("self.begin.getFullYear() == 2026", {"begin": "2026-01-01T10:00:00Z"}, True),
        ("self.period > duration('1h')", {"period": "90m"}, True),
        ("string(self.data) == 'abc' && size(self.data) == 3", {"data": "YWJj"}, True),
        ("self.numbers.sum() == 6 && self.numbers.max() == 3 && self.numbers.min() == 1", {}, True),
        ("!self.numbers.isSorted() && self.numbers.indexOf(2) == 2", {}, True),
        ("self.parts.map(p, p.id) == ['x']", {}, True),
        ("self.parts.exists_one(p, p.count == 1)", {}, True),
        ("self.numbers.all(i, n, i < 3 && n > 0)", {}, True),
        ("self.?labels['a'].orValue('none') == 'none'", {}, True),
        ("self.?labels.a.hasValue()", {"labels": {"a": "b"}}, True),
        ("self.labels.all(k, k.startsWith('a') && self.labels[k] == 'b')", {"labels": {"a1": "b"}}, True),
        ("isIP(self.name) && ip(self.name).family() == 4", {"name": "10.0.0.1"}, True),
        ("cidr('10.0.0.0/8').containsIP(self.name)", {"name": "10.0.0.1"}, True),
        ("cidr('10.0.0.0/8').containsIP(ip(self.name))", {"name": "11.0.0.1"}, False),
        ("isCIDR(self.name) && cidr(self.name).prefixLength() == 24", {"name": "fd00::/24"}, True),
        ("isURL(self.name) && url(self.name).getHost() == 'a.b:80'", {"name": "https://a.b:80/x?y=z"}, True),
        ("url(self.name).getEscapedPath() == '/x%20y'", {"name": "https://a.b:80/x y"}, True),
        ("quantity(self.amount).isGreaterThan(quantity('1.5Gi'))", {"amount": "2Gi"}, True),
        ("quantity(self.amount) == quantity('1')", {"amount": "1000m"}, True),
        ("isQuantity(self.amount)", {"amount": "1x"}, False),
        ("!format.dns1123Subdomain().validate(self.name).hasValue()", {"name": "A"}, False),
        ("!format.dns1123Label().validate(self.name).hasValue()", {"name": "a-b"}, True),
        (
            "self.name.find('[0-9]+') == '12' && self.name.findAll('[a-z]') == ['a', 'b']",
            {"name": "a12b"},
            True,
        ),
        ("self.name.split('.')[1].upperAscii().replace('A', 'x') == 'xB'", {"name": "a.ab"}, True),
        ("sets.contains([1, 2, 3], self.numbers)", {}, True),
        ("type(self.limit) == string ? self.limit.endsWith('%') : self.limit > 0", {"limit": "5%"}, True),
        (
            "self.other.metadata.name == 'n' && self.other.kind == 'K'",
            {"other": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}}},
            True,
        ),
        ("semver(self.name).isLessThan(semver('1.10.0'))", {"name": "1.9.0"}, True),
    ],
)
async def test_rules_hold(api: Api, prefix: str, rule: str, spec: Body, holds: bool) -> None:
    path = await define(api, ruled(prefix, {"rule": rule}))
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": GOOD | spec})
    if holds:
        assert reply.status == 201, reply.body
        return
    assert (reply.status, reply.body["reason"]) == (422, "Invalid"), reply.body
    (cause,) = reply.body["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("spec", "FieldValueInvalid")
    assert without_type(cause["message"]) == f"Invalid value: failed rule: {rule}"


@pytest.mark.parametrize(
    ("rule", "spec", "message"),
    [
        ({"rule": "self.size > 1", "message": "too small"}, {"size": 1}, "too small"),
        ({"rule": "self.size > 1", "messageExpression": "'is %d'.format([self.size])"}, {"size": 1}, "is 1"),
        (
            {"rule": "self.size > 1", "message": "plain", "messageExpression": "string(1 / (self.size - 1))"},
            {"size": 1},
            "plain",
        ),
        ({"rule": "self.ratio < 1.0"}, {}, "no such key: ratio evaluating rule: self.ratio < 1.0"),
        ({"rule": "self.numbers[7] > 1"}, {}, "index out of bounds: 7 evaluating rule: self.numbers[7] > 1"),
        (
            {"rule": "6 / (self.size - 3) == 1"},
            {},
            "division by zero evaluating rule: 6 / (self.size - 3) == 1",
        ),
        (
            {"rule": "self.limit > 3"},
            {"limit": "x"},
            (
                "'no such overload': call arguments did not match a supported operator, function or macro "
                "signature for rule: self.limit > 3"
            ),
        ),
    ],
)
async def test_what_is_said_of_a_failure(api: Api, prefix: str, rule: Body, spec: Body, message: str) -> None:
    path = await define(api, ruled(prefix, rule))
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": GOOD | spec})
    (cause,) = reply.body["details"]["causes"]
    # What went wrong in a rule is told with the type of the value.
    assert without_type(cause["message"]) == f"Invalid value: {message}"


@pytest.mark.parametrize(
    ("extra", "field", "reason", "message"),
    [
        ({"fieldPath": ".name"}, "spec.name", "FieldValueInvalid", "Invalid value: no"),
        ({"fieldPath": ".labels['a.b']"}, "spec.labels[a.b]", "FieldValueInvalid", "Invalid value: no"),
        ({"reason": "FieldValueForbidden"}, "spec", "FieldValueForbidden", "Forbidden: no"),
        (
            {"reason": "FieldValueRequired", "fieldPath": ".size"},
            "spec.size",
            "FieldValueRequired",
            "Required value: no",
        ),
    ],
)
async def test_where_and_why(
    api: Api, prefix: str, extra: Body, field: str, reason: str, message: str
) -> None:
    path = await define(api, ruled(prefix, {"rule": "self.size > 9", "message": "no"} | extra))
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": GOOD})
    (cause,) = reply.body["details"]["causes"]
    assert (cause["field"], cause["reason"], without_type(cause["message"])) == (field, reason, message)


@pytest.mark.since("1.36")
async def test_a_scalar_is_printed(api: Api, prefix: str) -> None:
    rule = {"rule": "self.startsWith('x')", "message": "must begin with x"}
    path = await define(api, ruled(prefix, name=TEXT | {"x-kubernetes-validations": [rule]}))
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": GOOD})
    kind = f"{prefix.capitalize()}Widget.{prefix}.example.com"
    assert reply.message == f'{kind} "a" is invalid: spec.name: Invalid value: "a": must begin with x'


@pytest.mark.parametrize(
    ("rule", "before", "after", "message"),
    [
        ({"rule": "self.size >= oldSelf.size", "message": "shrinks"}, {}, {"size": 2}, "shrinks"),
        ({"rule": "self.size >= oldSelf.size", "message": "shrinks"}, {}, {"size": 4}, ""),
        ({"rule": "self.set == oldSelf.set"}, {"set": ["a", "b"]}, {"set": ["b", "a"]}, ""),
        ({"rule": "self.numbers == oldSelf.numbers", "message": "same"}, {}, {"numbers": [1, 2, 3]}, "same"),
        (
            {"rule": "oldSelf.hasValue() || self.size == 3", "optionalOldSelf": True},
            {},
            {"size": 5},
            "",
        ),
        (
            {"rule": "!oldSelf.hasValue() || oldSelf.value().size < self.size", "optionalOldSelf": True},
            {},
            {"size": 1},
            "failed rule: !oldSelf.hasValue() || oldSelf.value().size < self.size",
        ),
    ],
)
async def test_transitions(
    api: Api, prefix: str, rule: Body, before: Body, after: Body, message: str
) -> None:
    path = await define(api, ruled(prefix, rule))
    await api.create(path, {"metadata": {"name": "a"}, "spec": GOOD | before})
    reply = await api.patch(f"{path}/a", {"spec": after})
    if not message:
        assert reply.status == 200, reply.body
        return
    (cause,) = reply.body["details"]["causes"]
    assert without_type(cause["message"]) == f"Invalid value: {message}"


async def test_optional_old_self_at_a_creation(api: Api, prefix: str) -> None:
    rule = {"rule": "oldSelf.hasValue() || self.size == 5", "optionalOldSelf": True}
    path = await define(api, ruled(prefix, rule))
    assert (await api.post(path, {"metadata": {"name": "a"}, "spec": GOOD})).status == 422
    assert (await api.post(path, {"metadata": {"name": "a"}, "spec": GOOD | {"size": 5}})).status == 201


async def test_elements_with_keys_have_a_past(api: Api, prefix: str) -> None:
    item = PART | {"x-kubernetes-validations": [{"rule": "self.count >= oldSelf.count", "message": "grows"}]}
    path = await define(api, ruled(prefix, parts=FIELDS["parts"] | {"items": item}))
    await api.create(path, {"metadata": {"name": "a"}, "spec": GOOD})
    parts = [{"id": "new", "count": 0}, {"id": "x", "count": 0}]
    reply = await api.patch(f"{path}/a", {"spec": {"parts": parts}})
    (cause,) = reply.body["details"]["causes"]
    assert (cause["field"], without_type(cause["message"])) == ("spec.parts[1]", "Invalid value: grows")
    parts = [{"id": "new", "count": 0}, {"id": "x", "count": 1}]
    assert (await api.patch(f"{path}/a", {"spec": {"parts": parts}})).status == 200


async def test_what_was_wrong_already_may_stay(api: Api, prefix: str) -> None:
    """Ratcheting: schema and rules got stricter after the object was written."""
    path = await define(api, ruled(prefix))
    before = {**GOOD, "set": ["b"], "labels": {"a": "long"}, "amount": "x"}
    await api.create(path, {"metadata": {"name": "a"}, "spec": before})
    stricter = ruled(
        prefix,
        name=TEXT | {"minLength": 3},
        labels=FIELDS["labels"] | {"additionalProperties": {"type": "string", "maxLength": 2}},
        amount=TEXT | {"x-kubernetes-validations": [{"rule": "isQuantity(self)", "message": "no quantity"}]},
    )
    name = stricter["metadata"]["name"]
    assert (await api.patch(f"{CRDS}/{name}", {"spec": stricter["spec"]})).status == 200
    probe = {"metadata": {"name": "probe"}, "spec": GOOD}
    while (await api.post(path, probe, dryRun="All")).status == 201:
        """Until the new schema counts."""
    assert (await api.patch(f"{path}/a", {"spec": {"size": 4}})).status == 200
    changed: list[tuple[Any, str]] = [
        ({"name": "b"}, "spec.name"),
        ({"labels": {"a": "other"}}, "spec.labels.a"),
        ({"amount": "y"}, "spec.amount"),
    ]
    for spec, field in changed:
        reply = await api.patch(f"{path}/a", {"spec": spec})
        assert reply.status == 422, reply.body
        assert reply.body["details"]["causes"][0]["field"] == field


async def test_rules_wait_for_a_sound_object(api: Api, prefix: str) -> None:
    path = await define(api, ruled(prefix, {"rule": "self.size > 9"}))
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": GOOD | {"size": "x"}})
    first, second = reply.body["details"]["causes"]
    assert first["field"] == "spec.size"
    assert second["field"] == "<nil>"
    assert second["message"].endswith(
        "some validation rules were not checked because the object was invalid; correct the existing errors "
        "to complete validation"
    )


async def test_status_has_rules_of_its_own(api: Api, prefix: str) -> None:
    body = ruled(prefix)
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    rule = {"rule": "self.ready <= self.all", "message": "more ready than there are"}
    schema["properties"]["status"] = {
        "type": "object",
        "properties": {"ready": NUMBER, "all": NUMBER},
        "x-kubernetes-validations": [rule],
    }
    path = await define(api, body)
    await api.create(path, {"metadata": {"name": "a"}, "spec": GOOD})
    good = await api.patch(f"{path}/a/status", {"status": {"ready": 1, "all": 1}})
    assert good.status == 200
    bad = await api.patch(f"{path}/a/status", {"status": {"ready": 2}})
    (cause,) = bad.body["details"]["causes"]
    assert cause["field"] == "status"
    assert without_type(cause["message"]) == "Invalid value: more ready than there are"


async def test_a_rule_that_runs_away_is_stopped(api: Api, prefix: str) -> None:
    """Its estimate is acceptable, what it really costs for this object is not."""
    numbers = {"type": "array", "items": NUMBER, "maxItems": 300}
    rule = {"rule": "self.numbers.all(a, self.numbers.all(b, self.numbers.all(c, a + b + c > 0)))"}
    causes = await refusal(api, ruled(prefix, rule, numbers=numbers))
    assert causes[0][1].startswith("Forbidden: estimated rule cost exceeds budget by factor of ")
    rule = {"rule": "self.numbers.all(a, self.numbers.all(b, a + b + a + b + a + b + a + b > 0))"}
    path = await define(api, ruled(prefix, rule, numbers=numbers | {"maxItems": 600}))
    spec = GOOD | {"numbers": [1] * 600}
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": spec})
    (cause,) = reply.body["details"]["causes"]
    assert (
        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to "
        in (cause["message"])
    )


async def test_others_are_served_while_rules_run(embedded: Endpoint, prefix: str) -> None:
    numbers = {"type": "array", "items": NUMBER, "maxItems": 600}
    rule = "self.numbers.all(a, self.numbers.all(b, a + b + a + b + a + b + a + b > 0))"
    rules = [{"rule": rule}] * 3
    async with embedded.api() as api:
        path = await define(api, ruled(prefix, *rules, numbers=numbers))
        body = {"metadata": {"name": "a"}, "spec": GOOD | {"numbers": [1] * 150}}
        writing = asyncio.create_task(api.post(path, body))
        begin = before = time.monotonic()
        longest = 0.0
        while not writing.done():
            assert (await api.get(path)).status == 200
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
        assert writing.result().status == 201
    assert longest < (before - begin) / 2
