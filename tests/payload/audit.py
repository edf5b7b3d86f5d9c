"""Who asked the API server for what, from its audit log; and what of the permissions that were given nobody
asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mco.api import names
from mco.payload.source.rules import Grants, Rule

ACCOUNT = f"system:serviceaccount:{names.NAMESPACE}:"
_POLICY = f"""\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:{names.NAMESPACE}"]
- level: None
"""


class Request(msgspec.Struct, frozen=True):
    """`resource` with its subresource; `code` is the answer's."""

    component: str
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    code: int


def flags(folder: Path) -> tuple[str, ...]:
    """Of a kube-apiserver that writes the log."""
    policy = folder / "audit.yaml"
    policy.write_text(_POLICY)
    return f"--audit-policy-file={policy}", f"--audit-log-path={_log(folder)}", "--audit-log-mode=blocking"


def requests(folder: Path) -> list[Request]:
    """All of components' to resources."""
    events = (msgspec.json.decode(line) for line in _log(folder).read_bytes().splitlines())
    return [_request(event) for event in events if event.get("objectRef", {}).get("resource")]


def unused(grants: Grants, seen: list[Request]) -> Iterator[str]:
    """`verb resource` of every grant that the component has not made use of."""
    mine = [request for request in seen if request.component == grants.component]
    for namespace, rules in (("", grants.cluster), *((each.namespace, each.rules) for each in grants.inside)):
        for rule in rules:
            for resource in rule.resources:
                for verb in rule.verbs:
                    if not any(_uses(request, rule, resource, verb, namespace) for request in mine):
                        yield f"{verb} {resource}" + (f" in {namespace}" if namespace else "")


def _uses(request: Request, rule: Rule, resource: str, verb: str, namespace: str) -> bool:
    return (
        (request.group, request.resource, request.verb) == (rule.group, resource, verb)
        and (not namespace or request.namespace == namespace)
        and (not rule.only or request.name in rule.only)
    )


def _request(event: dict[str, Any]) -> Request:
    about = event["objectRef"]
    resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
    return Request(
        component=event["user"]["username"].removeprefix(ACCOUNT),
        verb=event["verb"],
        group=about.get("apiGroup", ""),
        resource=resource,
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        code=event.get("responseStatus", {}).get("code", 0),
    )


def _log(folder: Path) -> Path:
    return folder / "audit.log"
