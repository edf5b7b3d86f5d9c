"""Bodies as builtins, and what is strange about them: unknown fields, fields given twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from mco.api.yaml import load_all
from mco.apiserver import errors
from mco.apiserver.http import protobuf
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import JSON
from mco.apiserver.registry.served import Served
from mco.apiserver.writes.pipeline import METADATA_FIELDS
from mco.base.errors import InvalidInput

YAML = "application/yaml"
_STRICT, _IGNORE, _WARN = "Strict", "Ignore", "Warn"
_SEEN_AND_DROPPED = frozenset({*METADATA_FIELDS, "managedFields", "selfLink"})
_SHOWN = 30


async def decode_body(request: Request) -> Any:
    """The body as builtins. Raises StatusError 400, 413, 415."""
    kind = request.content_type or JSON
    decode = _DECODERS.get(kind)
    if decode is None:
        raise errors.unsupported_media_type(tuple(_DECODERS))
    body = await request.body()
    try:
        value = decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidInput) as error:
        raise errors.bad_request(f"the body of the request cannot be decoded: {error}") from error
    if kind == protobuf.MEDIA_TYPE and value is None:
        raise errors.unsupported_media_type((JSON, YAML))
    return value


def _yaml(body: bytes) -> Any:
    """As the original reads it: `yes` is a text. Raises InvalidInput."""
    documents = load_all(body, "the body")
    if len(documents) != 1:
        raise InvalidInput(f"the body has {len(documents)} documents, not one")
    return documents[0]


_DECODERS: dict[str, Callable[[bytes], Any]] = {
    JSON: msgspec.json.decode,
    YAML: _yaml,
    protobuf.MEDIA_TYPE: protobuf.decode,
}


async def check_kind(served: Served, body: Any, request: Request) -> None:
    """A custom object says what it is; built-in ones need not. Raises StatusError 400."""
    if not served.custom or not isinstance(body, dict) or body.get("kind"):
        return
    raw = (await request.body()).decode(errors="replace")
    short = raw if len(raw) <= _SHOWN else f"{raw[:_SHOWN]} ..."
    raise errors.bad_request(
        f"the object provided is unrecognized (must be of type {served.kind}): Object 'Kind' is missing in "
        f"'{raw}' ({short})"
    )


async def repeated(request: Request) -> list[str]:
    """Complaints about keys given twice, when the client wants to hear of them."""
    if request.query.get("fieldValidation") not in (_STRICT, _WARN) or request.content_type not in ("", JSON):
        return []
    found: list[str] = []
    _look(json.loads(await request.body(), object_pairs_hook=_Pairs), "", found)
    return [f'duplicate field "{path}"' for path in found]


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it was written."""


def _look(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, entry in value:
            below = f"{path}.{key}" if path else key
            if key in seen:
                found.append(below)
            seen.add(key)
            _look(entry, below, found)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            _look(entry, f"{path}[{index}]", found)


def prune(served: Served, body: Any, request: Request, complaints: list[str]) -> list[str]:
    """Removes unknown fields; `complaints` and those about them are what to warn of.

    Raises StatusError for any of them when the client asked for `fieldValidation=Strict`: 400, and 422 where
    a patch would bring them in."""
    if not isinstance(body, dict):
        return []
    dropped = _prune_metadata(body) + served.strategy.prune(body)
    complaints = [*complaints, *(f'unknown field "{path}"' for path in dropped)]
    mode = request.query.get("fieldValidation")
    if complaints and mode == _STRICT:
        raise _strict(served, request, f"strict decoding error: {', '.join(complaints)}")
    return complaints if mode != _IGNORE else []


def _strict(served: Served, request: Request, message: str) -> errors.StatusError:
    if request.target.verb == "patch":
        return errors.invalid("", "", "", [errors.invalid_value("patch", "", message)])
    return errors.bad_request(
        f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}: {message}'
    )


def _prune_metadata(body: dict[str, Any]) -> list[str]:
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return []
    unknown = [field for field in metadata if field not in _SEEN_AND_DROPPED]
    body["metadata"] = {field: value for field, value in metadata.items() if field in _SEEN_AND_DROPPED}
    return [f"metadata.{field}" for field in unknown]
