"""The ASGI application: who asks, may they, and which handler answers."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.datastructures import Headers, QueryParams

from mco.apiserver import errors
from mco.apiserver.auth.authenticate import Authenticator
from mco.apiserver.auth.authorize import require
from mco.apiserver.core import Core
from mco.apiserver.errors import StatusError
from mco.apiserver.http import fixed, lists, objects, watches
from mco.apiserver.http.discovery import discover
from mco.apiserver.http.evictions import evict
from mco.apiserver.http.openapi import describe
from mco.apiserver.http.protocol import connection_of
from mco.apiserver.http.request import Request, parse_target
from mco.apiserver.http.respond import Answer, encode, send_answer
from mco.apiserver.http.reviews import GROUPS as QUESTIONS
from mco.apiserver.http.reviews import review
from mco.apiserver.registry.builtin import EVICTION
from mco.apiserver.registry.served import Served
from mco.base.errors import MCOError, Unavailable
from mco.runtime.logging import Logger

_log = Logger("mco.apiserver")


class Application:
    """One per server; requests share nothing but the core."""

    def __init__(self, core: Core, authenticator: Authenticator) -> None:
        self._core = core
        self._authenticator = authenticator

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers, query = Headers(scope=scope), QueryParams(scope["query_string"])
        target = parse_target(scope["method"], scope["path"], query)
        request = Request(
            method=scope["method"],
            target=target,
            query=query,
            headers=headers,
            receive=receive,
            connection=connection_of(scope),
        )
        try:
            answer = await self._answer(request)
        except StatusError as error:
            answer = _refusal(error)
        except Unavailable as error:
            _log.error("the store cannot be used", error=str(error), path=error.path)
            answer = _refusal(errors.unavailable(str(error)))
        except MCOError as error:
            _log.error("a request failed", error=str(error), method=request.method, path=target.path)
            answer = _refusal(errors.internal(str(error)))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            _log.exception("a request failed", error, method=request.method, path=target.path)
            answer = _refusal(errors.internal("unexpected error, see the server's log"))
        await send_answer(answer, send, head=request.method == "HEAD")

    async def _answer(self, request: Request) -> Answer:
        core, target = self._core, request.target
        request.user = self._authenticator.user_of(request)
        require(request, core.roles)
        if not target.resource:
            answer = fixed.answer(core, request) or discover(core.catalog, request)
            answer = answer or describe(core.catalog, request)
            if answer is None:
                raise errors.no_such_path()
            if request.method not in ("GET", "HEAD"):
                raise errors.method_not_allowed()
            return answer
        served = core.catalog.find(target.group, target.version, target.resource)
        if served is None or not _scope_fits(served, request):
            raise errors.no_such_path()
        if target.subresource:
            return await _dispatch_subresource(core, served, request)
        return await _dispatch(core, served, request)


async def _dispatch(core: Core, served: Served, request: Request) -> Answer:
    named = bool(request.target.name)
    if request.target.verb not in served.verbs:
        raise errors.method_not_allowed()
    if served.group in QUESTIONS:
        return await review(core, served, request)
    match request.target.verb:
        case "get":
            return objects.get_object(core, served, request)
        case "list":
            return lists.list_objects(core, served, request)
        case "watch":
            return watches.watch_objects(core, served, request)
        case "create" if not named:
            return await objects.create_object(core, served, request)
        case "update" if named:
            return await objects.update_object(core, served, request)
        case "patch" if named:
            return await objects.patch_object(core, served, request)
        case "delete":
            return await objects.delete_object(core, served, request)
        case "deletecollection":
            return await objects.delete_collection(core, served, request)
        case _:
            raise errors.method_not_allowed()


async def _dispatch_subresource(core: Core, served: Served, request: Request) -> Answer:
    subresource = served.subresource(request.target.subresource)
    if subresource is None:
        raise errors.no_such_path()
    if request.target.verb not in subresource.verbs:
        raise errors.method_not_allowed()
    if subresource is EVICTION:
        return await evict(core, served, request)
    return await _dispatch(core, served, request)


def _scope_fits(served: Served, request: Request) -> bool:
    """A namespaced resource is written in a namespace; reading all namespaces at once needs none."""
    target = request.target
    if not served.namespaced:
        return not target.namespace or target.resource == "namespaces"
    return bool(target.namespace) or target.verb in ("list", "watch", "deletecollection")


def _refusal(error: StatusError) -> Answer:
    answer = encode(error.status(), error.code)
    if error.retry_after:
        headers = ((b"retry-after", str(error.retry_after).encode()),)
        return Answer(status=answer.status, body=answer.body, headers=headers)
    return answer
