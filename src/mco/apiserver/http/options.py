"""Query parameters of lists, watches and writes, and what a client accepts."""

from __future__ import annotations

import base64
import binascii

import msgspec

from mco.api.meta import selectors
from mco.apiserver import errors
from mco.apiserver.http.request import Request
from mco.apiserver.registry.served import Served
from mco.apiserver.watch.selection import Selection, parse_fields
from mco.base.errors import InvalidInput

ACCEPTED = ("application/json", "application/yaml")


class Continue(msgspec.Struct, frozen=True):
    """Where the next page of a list begins: after an object, as of a revision."""

    rv: int
    namespace: str
    name: str

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


class Form(msgspec.Struct, frozen=True):
    """How objects are shown: `json`, `table` or `partial` (metadata only)."""

    shape: str = "json"
    include: str = "Metadata"


def selection_of(request: Request, served: Served) -> Selection:
    """Raises StatusError 400 for a selector that cannot be understood."""
    try:
        labels = selectors.parse(request.query.get("labelSelector", ""))
        fields = parse_fields(request.query.get("fieldSelector", ""), served.field_path)
    except (InvalidInput, ValueError) as error:
        raise errors.bad_request(str(error)) from error
    namespace = request.target.namespace if served.namespaced else ""
    return Selection(namespace, labels, fields)


def continue_of(request: Request) -> Continue | None:
    token = request.query.get("continue", "")
    if not token:
        return None
    try:
        padded = token + "=" * (-len(token) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=Continue)
    except (binascii.Error, ValueError) as error:
        raise errors.bad_request("continue key is not valid: it must be one that this server gave") from error


def number(request: Request, name: str) -> int:
    """A parameter that is a number not below zero; 0 when absent."""
    text = request.query.get(name, "")
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise errors.bad_request(f'{name}: Invalid value: "{text}": must be a number')
    return int(text)


def form_of(request: Request) -> Form:
    """Raises StatusError 406 when nothing that the client accepts can be served."""
    accept = request.headers.get("accept", "") or "*/*"
    for clause in accept.split(","):
        media, *rest = (part.strip() for part in clause.split(";"))
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        if media not in ("application/json", "application/*", "*/*"):
            continue
        wanted = parameters.get("as", "")
        if not wanted:
            return Form()
        if parameters.get("g") == "meta.k8s.io" and parameters.get("v") == "v1":
            if wanted == "Table":
                return Form("table", request.query.get("includeObject") or "Metadata")
            if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
                return Form("partial")
    raise errors.not_acceptable(ACCEPTED[:1])
