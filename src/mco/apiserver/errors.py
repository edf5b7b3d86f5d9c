"""Refusals as the API tells them: a Status object with code, reason, message and details.

Messages are those that `kubectl` and the clients of the field know from the real server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mco.base.errors import MCOError


class StatusError(MCOError):
    """An answer that is not the wanted object. `details` goes into the Status as it is."""

    def __init__(
        self, code: int, reason: str, message: str, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = dict(details or {})
        self.continue_token = ""

    @property
    def retry_after(self) -> int:
        return int(self.details.get("retryAfterSeconds", 0))

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details:
            body["details"] = self.details
        body["code"] = self.code
        return body


class Cause(msgspec.Struct, frozen=True):
    """One reason why an object is invalid. `reason` is as in `FieldValueInvalid`, `field` a path in it."""

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def value_text(value: Any) -> str:
    """A value in a message: JSON, strings quoted."""
    return msgspec.json.encode(value).decode()


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", "Required value" + (f": {detail}" if detail else ""), field)


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {value_text(value)}: {detail}", field)


def wrong_type(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueTypeInvalid", f"Invalid value: {value_text(value)}: {detail}", field)


def not_supported(field: str, value: Any, allowed: Sequence[Any]) -> Cause:
    listed = ", ".join(value_text(item) for item in allowed)
    message = f"Unsupported value: {value_text(value)}: supported values: {listed}"
    return Cause("FieldValueNotSupported", message, field)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {value_text(value)}", field)


def too_many(field: str, count: int, limit: int) -> Cause:
    noun = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} {noun}", field)


def too_long(field: str, limit: int) -> Cause:
    noun = "byte" if limit == 1 else "bytes"
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} {noun}", field)


def forbidden_field(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """422: every cause is listed, each with its field."""
    qualified = f"{kind}.{group}" if group else kind
    texts = list(dict.fromkeys(str(cause) for cause in causes))
    summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {
        "name": name,
        "group": group,
        "kind": kind,
        "causes": [msgspec.to_builtins(cause) for cause in causes],
    }
    return StatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {summary}', _compact(details))


def not_found(resource: str, group: str, name: str) -> StatusError:
    message = f'{_qualified(resource, group)} "{name}" not found'
    return StatusError(404, "NotFound", message, _object(resource, group, name))


def no_such_path() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def already_exists(resource: str, group: str, name: str) -> StatusError:
    message = f'{_qualified(resource, group)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _object(resource, group, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: str, group: str, name: str, why: str = MODIFIED) -> StatusError:
    message = f'Operation cannot be fulfilled on {_qualified(resource, group)} "{name}": {why}'
    return StatusError(409, "Conflict", message, _object(resource, group, name))


def forbidden(resource: str, group: str, name: str, why: str) -> StatusError:
    message = f"{_qualified(resource, group)} is forbidden: {why}"
    if name:
        message = f'{_qualified(resource, group)} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, _object(resource, group, name))


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> StatusError:
    return StatusError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", message)


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    listed = ", ".join(accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
    return StatusError(415, "UnsupportedMediaType", message)


def too_large(why: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {why}")


def expired(message: str, continue_token: str = "") -> StatusError:
    """410. With the token a list goes on at the present revision."""
    error = StatusError(410, "Expired", message)
    error.continue_token = continue_token
    return error


def unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message, {"retryAfterSeconds": 1})


def too_new(asked: int, current: int) -> StatusError:
    """504: the client has seen a revision that this server has not reached."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Too large resource version: {asked}, current: {current}"
    return StatusError(504, "Timeout", message, details)


def internal(message: str) -> StatusError:
    details = {"causes": [{"message": message}]}
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", details)


def _qualified(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


def _object(resource: str, group: str, name: str) -> dict[str, Any]:
    return _compact({"name": name, "group": group, "kind": resource})


def _compact(details: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in details.items() if value}
