"""One request to one answer: the story of a first boot's question, without any socket.

Routes, then admission, then negotiation, then the prepared bytes. Errors have no body (spec/operator.md 3.2):
the reason is logged and, for a refused or served machine, audited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from http import HTTPStatus
from typing import Protocol

import msgspec

from mco.base.errors import InvalidInput, MCOError, NotFound, Unavailable
from mco.configserver.admission import Admission, Refused, UnknownToken
from mco.configserver.metrics import Requests
from mco.configserver.negotiate import negotiate
from mco.configserver.prepared import Prepared
from mco.configserver.routes import Plain, resolve
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.configserver")

Admit = Callable[[str, str, datetime], Admission]
"""From the Authorization header, the pool and the time. Raises Refused."""

Unknown = Callable[[str], bool]
"""Whether it is certain that there is no token of that id; if not, that is being found out."""

_RETRY_AFTER = "5"
"""Seconds. Ignition takes no notice and asks again after 0.1 to 5 s, for ever; it gives up on any 4xx."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of a request. `peer` is the address it came from."""

    method: str
    target: str
    accept: str = ""
    authorization: str = ""
    user_agent: str = ""
    peer: str = ""


class Response(msgspec.Struct, frozen=True):
    """`headers` without Content-Length, which follows from `body`; `version` of Ignition, of the config that
    is in it."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: tuple[bytes, ...] = ()
    version: str = ""

    @property
    def length(self) -> int:
        return sum(map(len, self.body))


class NotServed(NotFound):
    """There is nothing of that name to serve: 404. What should be there and is missing is another error."""


class NotReady(Unavailable):
    """What should be served is not there yet, and comes by itself: 503."""


class Configs(Protocol):
    """Where prepared answers come from."""

    def ready(self, pool: str, version: str) -> Prepared | None:
        """The answer if it is there. Raises NotServed for an unknown pool."""

    async def prepare(self, pool: str, version: str) -> Prepared:
        """The answer, made now if need be. Raises NotReady, or another MCOError if it cannot be made."""


class Audit(Protocol):
    """Told once per decision about a machine."""

    def served(self, request: Request, pool: str, config: str, admission: Admission) -> None: ...

    def refused(self, request: Request, pool: str, refusal: Refused) -> None: ...


class NoAudit:
    def served(self, request: Request, pool: str, config: str, admission: Admission) -> None:
        pass

    def refused(self, request: Request, pool: str, refusal: Refused) -> None:
        pass


class Front:
    def __init__(
        self,
        configs: Configs,
        admit: Admit,
        clock: Clock,
        audit: Audit | None = None,
        unknown: Unknown = lambda _: True,
        requests: Requests | None = None,
    ) -> None:
        self._configs = configs
        self._admit = admit
        self._clock = clock
        self._audit = audit or NoAudit()
        self._unknown = unknown
        self._requests = requests or Requests(lambda _: False)

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """The response, or an awaitable of it where the answer is made first. Never raises."""
        began = self._clock.monotonic()
        route = resolve(request.method, request.target)
        if isinstance(route, Plain):
            return self._counted(_plain(route), "", began)
        answer = self._answer(request, route.pool)
        if isinstance(answer, Response):
            return self._counted(answer, route.pool, began)
        return self._counted_later(answer, route.pool, began)

    def _counted(self, response: Response, pool: str, began: float) -> Response:
        seconds = self._clock.monotonic() - began
        self._requests.answered(pool, response.status, response.version, seconds)
        return response

    async def _counted_later(self, answer: Awaitable[Response], pool: str, began: float) -> Response:
        return self._counted(await answer, pool, began)

    def _answer(self, request: Request, pool: str) -> Response | Awaitable[Response]:
        try:
            admission = self._admission(request, pool)
            version = negotiate(request.accept)
            prepared = self._configs.ready(pool, version)
            if prepared is None:
                return self._answer_later(request, pool, version, admission)
            return self._serve(request, pool, prepared, admission)
        except Exception as error:
            return self._failed(request, pool, error)

    async def _answer_later(
        self, request: Request, pool: str, version: str, admission: Admission
    ) -> Response:
        try:
            return self._serve(request, pool, await self._configs.prepare(pool, version), admission)
        except Exception as error:
            return self._failed(request, pool, error)

    def _admission(self, request: Request, pool: str) -> Admission:
        try:
            return self._admit(request.authorization, pool, self._clock.now())
        except UnknownToken as error:
            if self._unknown(error.token_id):
                raise
            raise NotReady("the join token is not known yet") from error

    def _serve(self, request: Request, pool: str, prepared: Prepared, admission: Admission) -> Response:
        sent = prepared.version if request.method == "GET" else ""
        content = (("Content-Type", "application/json"),)
        response = Response(200, content, prepared.body(admission.token), sent)
        _log.info(
            "config served",
            **_who(request, pool),
            config=prepared.name,
            version=prepared.version,
            identity=admission.token_id,
        )
        if sent:
            self._audit.served(request, pool, prepared.name, admission)
        return response

    def _failed(self, request: Request, pool: str, error: Exception) -> Response:
        match error:
            case Refused():
                _log.warning(
                    "config refused", **_who(request, pool), reason=error.message, identity=error.token_id
                )
                self._audit.refused(request, pool, error)
                return Response(
                    error.status, (("WWW-Authenticate", "Bearer"),) if error.status == 401 else ()
                )
            case NotServed():
                status = HTTPStatus.NOT_FOUND
            case NotReady():
                status = HTTPStatus.SERVICE_UNAVAILABLE
            case InvalidInput(path="Accept"):
                status = HTTPStatus.BAD_REQUEST
            case MCOError():
                status = HTTPStatus.INTERNAL_SERVER_ERROR
            case _:
                _log.exception("config not served", error, **_who(request, pool))
                return Response(HTTPStatus.INTERNAL_SERVER_ERROR)
        _log.warning(
            "config not served",
            **_who(request, pool),
            status=int(status),
            reason=error.message,
            subject=error.subject,
            path=error.path,
        )
        return Response(status, (("Retry-After", _RETRY_AFTER),) if isinstance(error, NotReady) else ())


def _plain(route: Plain) -> Response:
    headers = (("Location", route.location),) if route.location else ()
    return Response(route.status, (*headers, ("Allow", "GET, HEAD")) if route.status == 405 else headers)


def _who(request: Request, pool: str) -> dict[str, str]:
    return {
        "pool": pool,
        "remote": request.peer,
        "user_agent": request.user_agent,
        "accept": request.accept,
    }
