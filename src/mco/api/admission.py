"""A ValidatingAdmissionPolicy and its binding, as an expression or two say what is denied.

All fail closed and deny; a policy with a required parameter denies too where the parameter is missing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names

WRITES = ("CREATE", "UPDATE")
DELETES = ("DELETE",)

_API_VERSION = "admissionregistration.k8s.io/v1"


class Check(msgspec.Struct, frozen=True):
    """`text` is the refusal; `text_of` is an expression for it instead."""

    expression: str
    text: str = ""
    text_of: str = ""


class Parameter(msgspec.Struct, frozen=True):
    """The object that a policy reads beside the one in question. `required`: without it everything is
    denied."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    required: bool = True


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """`only` are (name, expression) pairs: requests for which one is false are none of its business.

    `namespaced`: it is about objects in our namespace. `file` is what the original calls its manifest, where
    that is not the policy's name."""

    name: str
    group: str
    resources: tuple[str, ...]
    checks: tuple[Check, ...]
    versions: tuple[str, ...] = (names.VERSION,)
    operations: tuple[str, ...] = WRITES
    parameter: Parameter | None = None
    only: tuple[tuple[str, str], ...] = ()
    namespaced: bool = False
    file: str = ""

    @property
    def stem(self) -> str:
        """What the names of its manifests begin with."""
        return self.file or self.name


def policy_object(policy: Policy) -> dict[str, Any]:
    """The ValidatingAdmissionPolicy, ready to create."""
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchConstraints": _constraints(policy),
        "validations": [_validation(check) for check in policy.checks],
    }
    if policy.only:
        spec["matchConditions"] = [{"name": name, "expression": text} for name, text in policy.only]
    if policy.parameter is not None:
        spec["paramKind"] = {"apiVersion": policy.parameter.api_version, "kind": policy.parameter.kind}
    return _object("ValidatingAdmissionPolicy", policy.name, spec)


def binding_object(policy: Policy) -> dict[str, Any]:
    """The ValidatingAdmissionPolicyBinding that makes the policy deny, ready to create."""
    spec: dict[str, Any] = {"policyName": policy.name, "validationActions": ["Deny"]}
    if policy.parameter is not None:
        spec["paramRef"] = _reference(policy.parameter)
    return _object("ValidatingAdmissionPolicyBinding", f"{policy.name}-binding", spec)


def _reference(parameter: Parameter) -> dict[str, str]:
    action = "Deny" if parameter.required else "Allow"
    inside = {"namespace": parameter.namespace} if parameter.namespace else {}
    return {"name": parameter.name, "parameterNotFoundAction": action} | inside


def _constraints(policy: Policy) -> dict[str, Any]:
    ours = {"matchLabels": {"kubernetes.io/metadata.name": names.NAMESPACE}}
    return {
        "matchPolicy": "Equivalent",
        "namespaceSelector": ours if policy.namespaced else {},
        "objectSelector": {},
        "resourceRules": [
            {
                "apiGroups": [policy.group],
                "apiVersions": list(policy.versions),
                "operations": list(policy.operations),
                "resources": list(policy.resources),
                "scope": "Namespaced" if policy.namespaced else "*",
            }
        ],
    }


def _validation(check: Check) -> dict[str, Any]:
    body = {"expression": check.expression}
    if check.text:
        body["message"] = check.text
    if check.text_of:
        body["messageExpression"] = check.text_of
    return body


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
