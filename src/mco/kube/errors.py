"""The API server's refusals, told apart by the reason in their Status (the reference is the `reason` field of
`meta/v1 Status`).

    APIError
    ├── BadRequest              400, also 405, 406, 415
    │   └── BodyTooLarge        413
    ├── Unauthorized            401
    ├── Forbidden               403
    ├── NotFoundError           404                             is a NotFound
    ├── ConflictError           409 Conflict                    is a Conflict
    ├── AlreadyExists           409 AlreadyExists               is a Conflict
    ├── Expired                 410 Expired, Gone
    ├── Invalid                 422                             is InvalidInput
    ├── TooManyRequests         429                             is Unavailable
    └── ServerError             500, 502, 503, 504, others      is Unavailable
    Unreachable                 no answer at all                is Unavailable
    DecodeError                 an answer that is not the type  is InvalidInput

`str()` is the server's message; the object is in `subject`, the first field that the server names in `path`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api.meta.objects import APIStruct
from mco.base.errors import Conflict, InvalidInput, MCOError, NotFound, Unavailable


class StatusCause(APIStruct, frozen=True, kw_only=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(APIStruct, frozen=True, kw_only=True):
    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[StatusCause, ...] | None = None
    retry_after_seconds: int = 0


class StatusMeta(APIStruct, frozen=True, kw_only=True):
    continue_: str = msgspec.field(default="", name="continue")


class Status(APIStruct, frozen=True, kw_only=True):
    """The body of a refusal, and the object of an ERROR event in a watch."""

    metadata: StatusMeta | None = None
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


class APIError(MCOError):
    """`code` is the HTTP status, `reason` the Status reason, `causes` its field errors; `retry_after` is in
    seconds, None when the server did not ask to wait. `advice` is the hint of every error of a class."""

    advice = ""

    def __init__(self, status: Status, *, subject: str = "", retry_after: float | None = None) -> None:
        details = status.details or StatusDetails()
        causes = details.causes or ()
        named = f"{details.kind}/{details.name}" if details.kind and details.name else details.kind
        super().__init__(
            status.message or status.reason or f"the server answered {status.code}",
            subject=subject or named,
            path=next((f"$.{cause.field}" for cause in causes if cause.field), ""),
            hint=self.advice,
        )
        self.status = status
        self.code = status.code
        self.reason = status.reason
        self.causes = causes
        self.retry_after = retry_after


class BadRequest(APIError):
    pass


class BodyTooLarge(BadRequest):
    pass


class Unauthorized(APIError):
    advice = "the server does not take these credentials: has the token or the client certificate expired?"


class Forbidden(APIError):
    pass


class NotFoundError(APIError, NotFound):
    pass


class ConflictError(APIError, Conflict):
    """The object changed since it was read, or a precondition does not hold."""


class AlreadyExists(APIError, Conflict):
    pass


class Expired(APIError):
    """The resourceVersion or continue token is too old: list again."""


class Invalid(APIError, InvalidInput):
    pass


class TooManyRequests(APIError, Unavailable):
    pass


class ServerError(APIError, Unavailable):
    pass


class Unreachable(Unavailable):
    """No answer: refused, reset, timed out. A write may or may not have happened."""


class DecodeError(InvalidInput):
    """An object that does not have the type of its resource; `key` is its `namespace/name`, empty if
    unreadable."""

    def __init__(self, message: str, *, key: str = "", subject: str = "", path: str = "") -> None:
        super().__init__(message, subject=subject, path=path)
        self.key = key


_BY_REASON: Mapping[str, type[APIError]] = {
    "AlreadyExists": AlreadyExists,
    "Conflict": ConflictError,
    "Expired": Expired,
    "Gone": Expired,
    "Forbidden": Forbidden,
    "Invalid": Invalid,
    "NotFound": NotFoundError,
    "TooManyRequests": TooManyRequests,
    "Unauthorized": Unauthorized,
}

_BY_CODE: Mapping[int, type[APIError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFoundError,
    405: BadRequest,
    406: BadRequest,
    409: ConflictError,
    410: Expired,
    413: BodyTooLarge,
    415: BadRequest,
    422: Invalid,
    429: TooManyRequests,
}

_decode = msgspec.json.Decoder(Status).decode


def from_status(status: Status, *, subject: str = "", retry_after: float | None = None) -> APIError:
    """The error of a Status: by its reason, or by its code where the reason says nothing of its own."""
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code, ServerError)
    if retry_after is None and status.details and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    return kind(status, subject=subject, retry_after=retry_after)


def from_answer(code: int, body: bytes, headers: Mapping[str, str], *, subject: str = "") -> APIError:
    """The error of an HTTP answer with a code of 400 or more, whatever its body is: a proxy answers HTML."""
    try:
        status = _decode(body)
    except msgspec.MsgspecError:
        status = Status()
    if not status.message:
        text = body[:200].decode("utf-8", "replace").strip()
        status = msgspec.structs.replace(
            status, message=f"the server answered {code}: {text}" if text else ""
        )
    status = msgspec.structs.replace(status, code=code)
    return from_status(status, subject=subject, retry_after=retry_after(headers))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After header; the date form counts as absent, as in Kubernetes' own clients."""
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


def is_version_too_large(error: APIError) -> bool:
    """Whether the server does not know our resourceVersion *yet*: it was restored from a backup, or lags."""
    return any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes) or (
        "Too large resource version" in error.message
    )


def describe(error: BaseException) -> dict[str, Any]:
    """Fields for a log line."""
    fields: dict[str, Any] = {"error": str(error) or type(error).__name__}
    for name in ("subject", "path", "hint", "reason", "code"):
        if value := getattr(error, name, None):
            fields["error_" + name if name in ("path", "reason", "code") else name] = value
    return fields
