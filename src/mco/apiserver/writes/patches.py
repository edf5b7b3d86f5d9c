"""Applying the body of a PATCH request, by its media type."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import msgspec
from jsonpointer import JsonPointerException, resolve_pointer

from mco.api.meta import patches
from mco.apiserver import errors
from mco.apiserver.registry.served import Served

Obj = dict[str, Any]

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

_OPERATIONS = 10_000
_COPIED_BYTES = 3 * 1024 * 1024


def accepted(served: Served) -> tuple[str, ...]:
    """The media types that a resource takes; server-side apply is not among them (design.md 10)."""
    return (JSON, MERGE) if served.custom else (JSON, MERGE, STRATEGIC)


def decode(served: Served, media_type: str, body: bytes) -> Any:
    """The patch as builtins. Raises StatusError 415 for another media type, 413 for too many operations, 400
    for malformed bodies."""
    if media_type not in accepted(served):
        raise errors.unsupported_media_type(accepted(served))
    try:
        patch = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise errors.bad_request(f"error decoding patch: {error}") from error
    wanted = list if media_type == JSON else dict
    if not isinstance(patch, wanted):
        name = "array" if media_type == JSON else "object"
        raise errors.bad_request(f"error decoding patch: it must be a JSON {name}")
    if wanted is list and len(patch) > _OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_OPERATIONS}, got {len(patch)}"
        raise errors.too_large(message)
    return patch


def apply(media_type: str, patch: Any, old: Obj) -> Any:
    """`old` with the patch applied; `old` stays as it is.

    Raises StatusError 422 when a JSON patch does not fit the object, 400 for an impossible strategic one."""
    if media_type == MERGE:
        return patches.merge(old, patch)
    if media_type == STRATEGIC:
        try:
            return patches.strategic(old, patch)
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
    try:
        return _edited(old, patch)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError) as error:
        message = "the server rejected our request due to an error in our request"
        raise errors.StatusError(422, "Invalid", message) from error


def _edited(old: Obj, operations: list[Any]) -> Any:
    """Copies of copies double with each operation, so that their bytes are counted."""
    document: Any = copy.deepcopy(old)
    copied = 0
    for operation in operations:
        if isinstance(operation, dict) and operation.get("op") == "copy":
            copied += len(msgspec.json.encode(resolve_pointer(document, str(operation.get("from")))))
            if copied > _COPIED_BYTES:
                raise jsonpatch.JsonPatchException(f"more than {_COPIED_BYTES} bytes are copied")
        document = jsonpatch.apply_patch(document, [operation], in_place=True)
    return document
