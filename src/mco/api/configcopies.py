"""How a node hands over its own copy of a rendered config, as both sides write it down.

The controller asks with an annotation of the Node: a nonce and the config's name. The node answers with
Secrets in our namespace, each a part of the packed config, and then with another annotation: the nonce and
the number of parts, 0 when it has no such config. Nothing of the config is anywhere else.
"""

from __future__ import annotations

import base64
import re

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.meta.objects import JSON

PART_BYTES = 900_000
"""Of one Secret, which may hold 1 MiB."""
MAX_PARTS = 4
"""More than the largest config that a server stores needs, even if it cannot be compressed."""
SECRET_TYPE = names.COPY_LABEL
SECRET_PREFIX = "config-copy-"
NONCE = "[0-9a-f]{16}"
KEY = "part"

_REQUEST = re.compile(rf"({NONCE}) ({names.RENDERED_PREFIX}[a-z0-9.-]+-[0-9a-f]{{32}})")
_ANSWER = re.compile(rf"({NONCE}) ([0-{MAX_PARTS}])")


class Request(msgspec.Struct, frozen=True):
    """`nonce` tells this request from any other, for as long as there are traces of either."""

    nonce: str
    config: str

    def __str__(self) -> str:
        return f"{self.nonce} {self.config}"


class Answer(msgspec.Struct, frozen=True):
    nonce: str
    parts: int

    def __str__(self) -> str:
        return f"{self.nonce} {self.parts}"


def requested(node: Node) -> Request | None:
    """What the node is asked for; what cannot be read is no request."""
    found = _REQUEST.fullmatch(node.metadata.annotation(names.COPY_WANTED) or "")
    return Request(found[1], found[2]) if found else None


def answered(node: Node) -> Answer | None:
    """The node's answer to what it is asked for now. One to an earlier request is none."""
    request = requested(node)
    found = _ANSWER.fullmatch(node.metadata.annotation(names.COPY_GIVEN) or "")
    if request is None or found is None or found[1] != request.nonce:
        return None
    return Answer(found[1], int(found[2]))


def secret_name(node: str, nonce: str, part: int) -> str:
    """The node stands last: whatever characters its name has, no other node's Secrets have such a name."""
    return f"{SECRET_PREFIX}{nonce}-{part}.{node}"


def secret(node: Node, nonce: str, part: int, data: bytes) -> JSON:
    """One part, which goes when the Node does."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.metadata.uid}
    metadata = {
        "name": secret_name(node.name, nonce, part),
        "namespace": names.NAMESPACE,
        "labels": {names.COPY_LABEL: nonce},
        "ownerReferences": [owner],
    }
    body = {"metadata": metadata, "type": SECRET_TYPE, "immutable": True}
    return body | {"data": {KEY: base64.b64encode(data).decode()}}


NODE_START = len(secret_name("", "0" * 16, 0))
"""Where in a Secret's name the node's begins."""
