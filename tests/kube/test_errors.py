"""Refusals of the API server become errors of one tree."""

from __future__ import annotations

import json

import pytest

from mco.base.errors import Conflict, InvalidInput, MCOError, NotFound, Unavailable
from mco.kube import errors
from mco.kube.errors import APIError, from_answer


@pytest.mark.parametrize(
    ("code", "reason", "kind", "base"),
    [
        (400, "BadRequest", errors.BadRequest, APIError),
        (401, "Unauthorized", errors.Unauthorized, APIError),
        (403, "Forbidden", errors.Forbidden, APIError),
        (404, "NotFound", errors.NotFoundError, NotFound),
        (405, "MethodNotAllowed", errors.BadRequest, APIError),
        (409, "AlreadyExists", errors.AlreadyExists, Conflict),
        (409, "Conflict", errors.ConflictError, Conflict),
        (410, "Expired", errors.Expired, APIError),
        (410, "Gone", errors.Expired, APIError),
        (413, "RequestEntityTooLarge", errors.BodyTooLarge, errors.BadRequest),
        (415, "UnsupportedMediaType", errors.BadRequest, APIError),
        (422, "Invalid", errors.Invalid, InvalidInput),
        (429, "TooManyRequests", errors.TooManyRequests, Unavailable),
        (500, "InternalError", errors.ServerError, Unavailable),
        (503, "ServiceUnavailable", errors.ServerError, Unavailable),
        (504, "Timeout", errors.ServerError, Unavailable),
        (409, "", errors.ConflictError, Conflict),
        (404, "", errors.NotFoundError, NotFound),
        (502, "", errors.ServerError, Unavailable),
    ],
)
def test_the_reason_chooses_the_error(
    code: int, reason: str, kind: type[APIError], base: type[MCOError]
) -> None:
    body = json.dumps({"kind": "Status", "code": code, "reason": reason, "message": "no"}).encode()
    error = from_answer(code, body, {})
    assert type(error) is kind
    assert isinstance(error, base)
    assert (error.code, error.reason, str(error)) == (code, reason, "no")


def test_object_and_field_are_named_beside_the_message() -> None:
    status = {
        "message": 'MachineConfigPool "worker" is invalid: spec.maxUnavailable: Invalid value',
        "reason": "Invalid",
        "details": {
            "name": "worker",
            "kind": "MachineConfigPool",
            "causes": [
                {"reason": "FieldValueInvalid", "message": "Invalid value", "field": "spec.maxUnavailable"},
                {"reason": "FieldValueRequired", "message": "Required", "field": "spec.other"},
            ],
        },
    }
    error = from_answer(422, json.dumps(status).encode(), {})
    assert error.subject == "MachineConfigPool/worker"
    assert error.path == "$.spec.maxUnavailable"
    assert [cause.field for cause in error.causes] == ["spec.maxUnavailable", "spec.other"]
    assert str(error) == status["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>bad gateway</html>", "the server answered 502: <html>bad gateway</html>"),
        (b"", "the server answered 502"),
        (b"\xff\xfe", "the server answered 502: \ufffd\ufffd"),
        (b"[]", "the server answered 502: []"),
    ],
)
def test_a_proxy_that_is_no_api_server_is_understood_too(body: bytes, message: str) -> None:
    error = from_answer(502, body, {}, subject="Node/w1")
    assert type(error) is errors.ServerError
    assert str(error) == message
    assert error.subject == "Node/w1"


@pytest.mark.parametrize(
    ("header", "details", "expected"),
    [
        ("3", 0, 3.0),
        ("0", 0, 0.0),
        ("", 5, 5.0),
        ("2", 5, 2.0),
        ("", 0, None),
        ("Fri, 31 Dec 1999", 0, None),
        ("-1", 0, None),
    ],
)
def test_the_wait_comes_from_the_header_or_else_from_the_status(
    header: str, details: int, expected: float | None
) -> None:
    body = json.dumps({"reason": "TooManyRequests", "details": {"retryAfterSeconds": details}}).encode()
    error = from_answer(429, body, {"Retry-After": header} if header else {})
    assert error.retry_after == expected
