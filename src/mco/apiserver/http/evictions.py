"""Eviction: a deletion of a Pod that may be refused for the sake of those who depend on it.

Budgets are not served, so none can refuse. A Pod whose Node runs no kubelet goes at once, as every Pod does:
nobody would report that its containers have stopped (design.md 10, nodes without a kubelet).
"""

from __future__ import annotations

from mco.apiserver import errors
from mco.apiserver.core import Core
from mco.apiserver.http.bodies import decode_body
from mco.apiserver.http.objects import DeleteOptions, write_options
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import Answer, encode
from mco.apiserver.registry.served import Served
from mco.apiserver.writes.writes import Preconditions


async def evict(core: Core, served: Served, request: Request) -> Answer:
    body = await decode_body(request)
    if not isinstance(body, dict) or body.get("kind") != "Eviction":
        raise errors.bad_request("the body of the request is not an Eviction")
    target = request.target
    name = (body.get("metadata") or {}).get("name", target.name)
    if name != target.name:
        message = f"name in URL does not match name in Eviction object: {target.name} != {name}"
        raise errors.bad_request(message)
    asked = DeleteOptions.of(body.get("deleteOptions") or {})
    wanted = asked.preconditions or {}
    await core.deletions.delete(
        served,
        target.namespace,
        target.name,
        write_options(core, request, asked),
        Preconditions(wanted.get("uid", ""), wanted.get("resourceVersion", "")),
        asked.propagation_policy or "",
    )
    success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return encode(success, 201)
