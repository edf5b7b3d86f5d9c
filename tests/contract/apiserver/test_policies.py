"""ValidatingAdmissionPolicies: what they are asked about, what they know, how they refuse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.contract.apiserver.endpoint import Api, Body, Reply
from tests.contract.apiserver.pods import eviction, pod

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"
RULE: Body = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


class Cluster:
    """A namespace in which policies are in force."""

    def __init__(self, api: Api, prefix: str, namespace: str) -> None:
        self.api = api
        self.prefix = prefix
        self.maps = f"{namespace}/configmaps"

    async def enforce(self, spec: Body, binding: Body | None = None, rule: Body | None = None) -> None:
        """Puts a policy for ConfigMaps of the namespace in force; it denies the name `denied-by-policy`."""
        selector = {"matchLabels": {"kubernetes.io/metadata.name": self.prefix}}
        match = {"resourceRules": [RULE | (rule or {})], "namespaceSelector": selector}
        probe = {"expression": "!has(object.metadata) || object.metadata.name != 'denied-by-policy'"}
        validations = [*spec.pop("validations", ()), probe]
        body = {"metadata": {"name": self.prefix}}
        await self.api.create(
            POLICIES, {**body, "spec": {"matchConstraints": match, "validations": validations, **spec}}
        )
        bound = {"policyName": self.prefix, "validationActions": ["Deny"], **(binding or {})}
        await self.api.create(BINDINGS, {**body, "spec": bound})

    async def effective(self) -> None:
        """Waits until the policy counts."""
        async with asyncio.timeout(30):
            while (await self.create("denied-by-policy", dryRun="All")).status == 201:
                pass

    async def create(self, name: str, data: Body | None = None, **query: str) -> Reply:
        return await self.api.post(self.maps, {"metadata": {"name": name}, "data": data or {}}, **query)

    def refusal(self, name: str, text: str) -> str:
        return (
            f"configmaps \"{name}\" is forbidden: ValidatingAdmissionPolicy '{self.prefix}' with binding "
            f"'{self.prefix}' denied request: {text}"
        )


@pytest_asyncio.fixture
async def cluster(api: Api, prefix: str, namespace: str) -> AsyncIterator[Cluster]:
    yield Cluster(api, prefix, namespace)
    await api.delete(f"{BINDINGS}/{prefix}")
    await api.delete(f"{POLICIES}/{prefix}")


def validation(expression: str, **more: Any) -> Body:
    return {"validations": [{"expression": expression, **more}]}


@pytest.mark.parametrize(
    ("more", "text", "code", "reason"),
    [
        ({"message": "no x"}, "no x", 422, "Invalid"),
        ({}, "failed expression: !has(object.data) || !('x' in object.data)", 422, "Invalid"),
        ({"messageExpression": "'no x in ' + object.metadata.name"}, "no x in a", 422, "Invalid"),
        ({"message": "plain", "messageExpression": "string(object.nothing)"}, "plain", 422, "Invalid"),
        ({"message": "no", "reason": "Forbidden"}, "no", 403, "Forbidden"),
        ({"message": "no", "reason": "RequestEntityTooLarge"}, "no", 413, "RequestEntityTooLarge"),
    ],
)
async def test_a_denial(cluster: Cluster, more: Body, text: str, code: int, reason: str) -> None:
    await cluster.enforce(validation("!has(object.data) || !('x' in object.data)", **more))
    await cluster.effective()
    assert (await cluster.create("b", {"y": "1"})).status == 201
    reply = await cluster.create("a", {"x": "1"})
    assert (reply.status, reply.body["reason"]) == (code, reason)
    assert reply.message == cluster.refusal("a", text)
    details = reply.body["details"]
    assert (details["name"], details["kind"]) == ("a", "configmaps")
    causes = [cause["message"] for cause in details["causes"]]
    assert causes == [reply.message.partition("is forbidden: ")[2]]


async def test_an_error_denies_where_it_must(cluster: Cluster) -> None:
    await cluster.enforce(validation("object.data.x == '1'"))
    await cluster.effective()
    reply = await cluster.create("a", {"y": "1"})
    assert reply.message == cluster.refusal(
        "a", "expression 'object.data.x == '1'' resulted in error: no such key: x"
    )


async def test_an_error_passes_where_it_may(cluster: Cluster) -> None:
    await cluster.enforce(validation("object.data.x == '1'") | {"failurePolicy": "Ignore"})
    await cluster.effective()
    assert (await cluster.create("a", {"y": "1"})).status == 201
    assert (await cluster.create("b", {"x": "2"})).status == 422


async def test_what_an_expression_knows(cluster: Cluster) -> None:
    await cluster.enforce(
        {
            "variables": [
                {"name": "size", "expression": "has(object.data) ? size(object.data) : 0"},
                {"name": "few", "expression": "variables.size < 2"},
            ],
            "validations": [
                {
                    "expression": "variables.few",
                    "messageExpression": "string(variables.size) + ' are too many'",
                },
                {"expression": f"request.namespace == '{cluster.prefix}'"},
                {"expression": "request.kind.kind == 'ConfigMap' && request.resource.group == ''"},
                {"expression": "request.operation == (oldObject == null ? 'CREATE' : 'UPDATE')"},
                {"expression": f"namespaceObject.metadata.name == '{cluster.prefix}'"},
                {"expression": "oldObject == null || oldObject.data == object.data", "message": "no change"},
            ],
        }
    )
    await cluster.effective()
    assert (await cluster.create("a", {"x": "1"})).status == 201
    reply = await cluster.create("b", {"x": "1", "y": "2"})
    assert reply.message == cluster.refusal("b", "2 are too many")
    reply = await cluster.api.patch(f"{cluster.maps}/a", {"data": {"x": "2"}})
    assert reply.message == cluster.refusal("a", "no change")
    assert (await cluster.api.patch(f"{cluster.maps}/a", {"metadata": {"labels": {"k": "v"}}})).status == 200


async def test_a_policy_is_asked_about_what_it_is_for(cluster: Cluster) -> None:
    conditions = [{"name": "some", "expression": "object.metadata.name.startsWith('d')"}]
    await cluster.enforce(
        validation("false", message="never") | {"matchConditions": conditions},
        rule={"operations": ["CREATE"]},
    )
    await cluster.effective()
    assert (await cluster.create("a")).status == 201
    assert (await cluster.create("d")).message == cluster.refusal("d", "never")
    assert (await cluster.api.patch(f"{cluster.maps}/a", {"data": {"x": "1"}})).status == 200
    other = {"metadata": {"name": "d"}, "stringData": {}}
    assert (await cluster.api.post(cluster.maps.replace("configmaps", "secrets"), other)).status == 201


async def test_deletions(cluster: Cluster) -> None:
    checks = validation("object != null || oldObject.metadata.name != 'kept'", message="stays")
    checks["validations"].append({"expression": "object != null || request.operation == 'DELETE'"})
    await cluster.enforce(checks, rule={"operations": ["*"]})
    # Not before there is something to try it with.
    async with asyncio.timeout(30):
        while (await cluster.create("probe", dryRun="All")).status != 422:
            probe = await cluster.create("kept")
            assert probe.status in (201, 409, 422)
            reply = await cluster.api.delete(f"{cluster.maps}/kept", dryRun="All")
            if reply.status != 200:
                break
    assert reply.message == cluster.refusal("kept", "stays")


async def test_a_warning(cluster: Cluster) -> None:
    await cluster.enforce(validation("false", message="think twice"), {"validationActions": ["Warn"]})
    async with asyncio.timeout(30):
        while "Warning" not in (reply := await cluster.create("a", dryRun="All")).headers:
            assert reply.status == 201
    text = "Validation failed for ValidatingAdmissionPolicy '{0}' with binding '{0}': think twice"
    assert reply.headers["Warning"] == f'299 - "{text.format(cluster.prefix)}"'


PARAMETER_KIND = {"paramKind": {"apiVersion": "v1", "kind": "Secret"}}
"""Not ConfigMaps, which a policy of ours has: the real server does not follow parameters of a kind any more
once no policy had used it for a while."""
KNOWN_KEYS = "!has(object.data) || object.data.all(k, k in params.data)"


async def parameter(cluster: Cluster, name: str, *keys: str) -> None:
    body = {"metadata": {"name": name, "labels": {"limits": "yes"}}, "stringData": dict.fromkeys(keys, "any")}
    await cluster.api.create(cluster.maps.replace("configmaps", "secrets"), body)


async def test_parameters(cluster: Cluster) -> None:
    await parameter(cluster, "limits", "x")
    ref = {"name": "limits", "namespace": cluster.prefix, "parameterNotFoundAction": "Deny"}
    await cluster.enforce(validation(KNOWN_KEYS, message="unknown key") | PARAMETER_KIND, {"paramRef": ref})
    await cluster.effective()
    reply = await cluster.create("a", {"y": "1"})
    assert reply.message == cluster.refusal("a", "unknown key")
    assert (await cluster.create("b", {"x": "1"})).status == 201


async def test_missing_parameters(cluster: Cluster) -> None:
    ref = {"name": "nothing", "namespace": cluster.prefix, "parameterNotFoundAction": "Deny"}
    await cluster.enforce(validation(KNOWN_KEYS) | PARAMETER_KIND, {"paramRef": ref})
    await cluster.effective()
    reply = await cluster.create("a", {"x": "1"})
    text = (
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )
    assert reply.message == cluster.refusal("a", text)


async def test_selected_parameters_are_all_asked(cluster: Cluster) -> None:
    await parameter(cluster, "one", "x", "both")
    await parameter(cluster, "two", "y", "both")
    selector = {"matchLabels": {"limits": "yes"}}
    ref = {"selector": selector, "namespace": cluster.prefix, "parameterNotFoundAction": "Allow"}
    await cluster.enforce(validation(KNOWN_KEYS, message="unknown") | PARAMETER_KIND, {"paramRef": ref})
    await cluster.effective()
    assert (await cluster.create("a", {"x": "1"})).message == cluster.refusal("a", "unknown")
    assert (await cluster.create("b", {"both": "1"})).status == 201


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({}, "spec.matchConstraints", "Required value"),
        (validation("object."), "spec.validations[0].expression", "<input>:1:8: Syntax error"),
        (validation("1"), "spec.validations[0].expression", "must evaluate to bool"),
        (
            validation("self.x"),
            "spec.validations[0].expression",
            "undeclared reference to 'self' (in container '')",
        ),
        (validation("true", reason="Why"), "spec.validations[0].reason", 'Unsupported value: "Why"'),
        (
            validation("true", messageExpression="1"),
            "spec.validations[0].messageExpression",
            "must evaluate to string",
        ),
        (validation("true") | {"failurePolicy": "Never"}, "spec.failurePolicy", 'Unsupported value: "Never"'),
        (validation(""), "spec.validations[0].expression", "Required value: expression is not specified"),
    ],
)
async def test_a_policy_that_cannot_be_used(
    api: Api, prefix: str, spec: Body, field: str, message: str
) -> None:
    constraints = {"matchConstraints": {"resourceRules": [RULE]}} if spec else {}
    reply = await api.post(POLICIES, {"metadata": {"name": prefix}, "spec": spec | constraints})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid"), reply.body
    causes = [(cause["field"], cause["message"]) for cause in reply.body["details"]["causes"]]
    assert any(place == field and message in text for place, text in causes), causes


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"policyName": ""}, "spec.policyName"),
        ({"validationActions": []}, "spec.validationActions"),
        ({"validationActions": ["Deny", "Warn"]}, "spec.validationActions"),
        ({"validationActions": ["Shout"]}, "spec.validationActions[0]"),
        ({"paramRef": {"parameterNotFoundAction": "Deny"}}, "spec.paramRef"),
        ({"paramRef": {"name": "a"}}, "spec.paramRef.parameterNotFoundAction"),
    ],
)
async def test_a_binding_that_cannot_be_used(api: Api, prefix: str, change: Body, field: str) -> None:
    spec = {"policyName": "p", "validationActions": ["Deny"], **change}
    reply = await api.post(BINDINGS, {"metadata": {"name": prefix}, "spec": spec})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid"), reply.body
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


async def test_defaults(api: Api, prefix: str) -> None:
    spec = {"matchConstraints": {"resourceRules": [RULE]}, **validation("true")}
    created = await api.create(POLICIES, {"metadata": {"name": prefix}, "spec": spec})
    assert created["spec"]["failurePolicy"] == "Fail"
    match = created["spec"]["matchConstraints"]
    assert (match["matchPolicy"], match["namespaceSelector"], match["objectSelector"]) == (
        "Equivalent",
        {},
        {},
    )
    assert match["resourceRules"][0]["scope"] == "*"


async def _refused(api: Api, method: str, path: str, body: Body | None = None) -> str:
    """The refusal of a dry run, once the policy counts."""
    async with asyncio.timeout(30):
        while (reply := await api.request(method, path, body, dryRun="All")).status in (200, 201):
            pass
    return reply.message


async def test_an_eviction_is_created_and_no_deletion(cluster: Cluster, namespace: str) -> None:
    """Whoever forbids to delete pods does not forbid to evict them."""
    path = await pod(cluster.api, namespace, "one")
    await cluster.enforce(validation("false"), rule={"operations": ["DELETE"], "resources": ["pods"]})
    await _refused(cluster.api, "DELETE", path)
    assert (await cluster.api.post(f"{path}/eviction", eviction("one"))).status == 201


async def test_an_eviction_may_be_refused(cluster: Cluster, namespace: str) -> None:
    path = await pod(cluster.api, namespace, "one")
    rule = {"operations": ["CREATE"], "resources": ["pods/eviction"]}
    await cluster.enforce(validation("object.kind != 'Eviction'", message="stays"), rule=rule)
    message = await _refused(cluster.api, "POST", f"{path}/eviction", eviction("one"))
    assert message.startswith('pods "one" is forbidden: ValidatingAdmissionPolicy')
    assert message.endswith("denied request: stays")
    assert (await cluster.api.delete(path)).status == 200


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("group('').resource('configmaps').namespace('x').check('get').allowed()", True),
        ("group('').resource('configmaps').name('a').subresource('s').check('get').reason() == 'no'", False),
        ("serviceAccount('x', 'nobody').group('').resource('secrets').check('list').allowed()", False),
        ("path('/healthz').check('get').allowed()", True),
        ("requestResource.check('delete').allowed()", True),
        ("group('').resource('configmaps').fieldSelector('a=b').check('list').errored()", False),
    ],
)
async def test_rights_are_asked_for(cluster: Cluster, question: str, holds: bool) -> None:
    await cluster.enforce(validation(f"authorizer.{question}", message="no right"))
    await cluster.effective()
    reply = await cluster.create("a")
    if holds:
        assert reply.status == 201, reply.body
    else:
        assert reply.message == cluster.refusal("a", "no right")


async def test_a_condition_that_does_not_hold_decides(cluster: Cluster) -> None:
    conditions = [
        {"name": "fails", "expression": "object.data.nothing == 'x'"},
        {"name": "holds", "expression": "object.metadata.name != 'spared'"},
    ]
    await cluster.enforce(validation("true") | {"matchConditions": conditions})
    await cluster.effective()
    assert (await cluster.create("spared")).status == 201
    text = "expression 'object.data.nothing == 'x'' resulted in error: no such key: "
    assert cluster.refusal("a", text) in (await cluster.create("a")).message


async def test_a_deletion_has_no_object(cluster: Cluster) -> None:
    await cluster.enforce(validation("object.data.x == '1'"), rule={"operations": ["CREATE", "DELETE"]})
    await cluster.effective()
    assert (await cluster.create("a", {"x": "1"})).status == 201
    reply = await cluster.api.delete(f"{cluster.maps}/a")
    text = "expression 'object.data.x == '1'' resulted in error: no such key: data"
    assert reply.message == cluster.refusal("a", text)


@pytest.mark.parametrize(
    ("more", "field", "message"),
    [
        ({"matchConditions": [{"expression": "true"}]}, "matchConditions[0].name", "Required value"),
        (
            {"matchConditions": [{"name": "a", "expression": "true"}] * 2},
            "matchConditions[1].name",
            'Duplicate value: "a"',
        ),
        (
            {"matchConditions": [{"name": "a", "expression": "variables.v"}]},
            "matchConditions[0].expression",
            "undeclared reference to 'variables'",
        ),
        (
            {"variables": [{"name": "in", "expression": "1"}]},
            "variables[0].name",
            "must be a valid CEL identifier",
        ),
        (
            {"auditAnnotations": [{"key": "a", "valueExpression": "1"}]},
            "auditAnnotations[0].valueExpression",
            "must evaluate to one of [string null_type] but got int",
        ),
        ({"paramKind": {"apiVersion": "v1"}}, "paramKind.kind", "Required value"),
        (validation("params.x == 1"), "validations[0].expression", "undeclared reference to 'params'"),
        (validation("request.foo == 1"), "validations[0].expression", "undefined field 'foo'"),
        (validation("namespaceObject.foo == 1"), "validations[0].expression", "undefined field 'foo'"),
        (validation("true", message="a\nb"), "validations[0].message", "must not contain line breaks"),
        (
            {"matchConstraints": {"resourceRules": [RULE | {"operations": ["*", "CREATE"]}]}},
            "matchConstraints.resourceRules[0].operations",
            "if '*' is present, must not specify other operations",
        ),
        (
            {"matchConstraints": {"resourceRules": [RULE | {"scope": "X"}]}},
            "matchConstraints.resourceRules[0].scope",
            'Unsupported value: "X"',
        ),
    ],
)
async def test_what_is_no_policy(api: Api, prefix: str, more: Body, field: str, message: str) -> None:
    spec = {"matchConstraints": {"resourceRules": [RULE]}, **validation("true"), **more}
    reply = await api.post(POLICIES, {"metadata": {"name": prefix}, "spec": spec}, dryRun="All")
    assert reply.status == 422, reply.body
    (cause,) = reply.body["details"]["causes"]
    assert cause["field"] == f"spec.{field}"
    assert message in cause["message"]
