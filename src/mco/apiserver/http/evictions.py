"""`pods/eviction`: what it takes, and what it answers."""

from __future__ import annotations

import msgspec

from mco.apiserver import errors
from mco.apiserver.core import Core
from mco.apiserver.http.bodies import decode_body
from mco.apiserver.http.objects import DeleteOptions, write_options
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import Answer, encode
from mco.apiserver.registry.served import Served
from mco.apiserver.writes.writes import admit_all


async def evict(core: Core, served: Served, request: Request) -> Answer:
    body = await decode_body(request)
    if not isinstance(body, dict) or body.get("kind") != "Eviction":
        raise errors.bad_request("the body of the request is not an Eviction")
    target = request.target
    if (body.get("metadata") or {}).get("name", target.name) != target.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    asked = DeleteOptions.of(body.get("deleteOptions") or {})
    options = write_options(core, request, asked)
    place = {"name": target.name, "namespace": target.namespace}
    options.admit(served, {**body, "metadata": {**(body.get("metadata") or {}), **place}}, None)
    # Policies judge that an eviction is created; the deletion that follows is the server's own.
    options = msgspec.structs.replace(options, admit=admit_all)
    await core.evictions.evict(
        served,
        target.namespace,
        target.name,
        options,
        asked.deletion(),
        asked.propagation_policy or "",
    )
    success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return encode(success, 201)
