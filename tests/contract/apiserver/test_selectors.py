"""Label selectors without a key or an operator: built-in kinds say what is wrong with them, definitions that
something is missing."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api.schema import LABEL_SELECTOR
from tests.contract.apiserver.definitions import define, definition
from tests.contract.apiserver.endpoint import Api, Body

OPERATOR = 'operator: Invalid value: "": not a valid selector operator'
KEY = 'key: Invalid value: "": name part must be non-empty'
CASES = [({}, (OPERATOR, KEY)), ({"key": "a"}, (OPERATOR,)), ({"operator": "Exists"}, (KEY,))]


def budget(selector: Body) -> tuple[str, str, Body]:
    spec = {"minAvailable": 1, "selector": selector}
    return "/apis/policy/v1/namespaces/default/poddisruptionbudgets", "spec.selector", {"spec": spec}


def role(selector: Body) -> tuple[str, str, Body]:
    rule = {"clusterRoleSelectors": [selector]}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    return path, "aggregationRule.clusterRoleSelectors[0]", {"aggregationRule": rule}


def policy(selector: Body) -> tuple[str, str, Body]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nodes"]}
    spec: Body = {
        "validations": [{"expression": "true"}],
        "matchConstraints": {"objectSelector": selector, "resourceRules": [rule]},
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    return path, "spec.matchConstraints.objectSelector", {"spec": spec}


@pytest.mark.parametrize(("expression", "wrong"), CASES)
@pytest.mark.parametrize("kind", [budget, role, policy])
async def test_built_in_kinds(api: Api, prefix: str, kind: Any, expression: Body, wrong: list[str]) -> None:
    path, field, body = kind({"matchExpressions": [expression]})
    reply = await api.post(path, {"metadata": {"name": prefix}, **body})
    assert reply.status == 422
    place = f"{field}.matchExpressions[0]"
    causes = [f"{cause['field']}: {cause['message']}" for cause in reply.body["details"]["causes"]]
    said = [cause for cause in causes if "must consist of" not in cause]
    also = [f"{field}: Invalid value: null: invalid label selector."] if kind is role else []
    assert said == [*(f"{place}.{each}" for each in wrong), *also]


@pytest.mark.parametrize(("expression", "wrong"), CASES)
async def test_definitions(api: Api, prefix: str, expression: Body, wrong: list[str]) -> None:
    spec = {"type": "object", "properties": {"selector": LABEL_SELECTOR}}
    path = await define(api, definition(prefix, spec))
    selector = {"matchExpressions": [expression]}
    reply = await api.post(path, {"metadata": {"name": "a"}, "spec": {"selector": selector}})
    assert reply.status == 422
    missing = {field for field in ("key", "operator") if any(each.startswith(field) for each in wrong)}
    causes = {(cause["reason"], cause["field"]) for cause in reply.body["details"]["causes"]}
    place = "spec.selector.matchExpressions[0]"
    assert causes >= {("FieldValueRequired", f"{place}.{field}") for field in missing}
