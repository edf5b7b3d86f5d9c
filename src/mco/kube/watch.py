"""The watch stream: bytes to events, without a socket.

Events are separated by `\\n` and by nothing else: file contents inside an object may carry U+0085 or U+2028,
which line readers of text libraries take for line ends. A line has any length.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from mco.api.meta.objects import APIStruct, Object, ObjectMeta
from mco.api.resources import Resource
from mco.kube.codec import decode_object
from mco.kube.errors import DecodeError, Status, from_status

T = TypeVar("T", bound=Object)

ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events of a WatchList; other bookmarks may come
earlier."""


class WatchEvent(msgspec.Struct, Generic[T], frozen=True):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK; a bookmark's object has metadata only."""

    type: str
    object: T

    @property
    def resource_version(self) -> str:
        return self.object.metadata.resource_version

    @property
    def ends_initial_events(self) -> bool:
        return self.type == BOOKMARK and self.object.metadata.annotation(INITIAL_EVENTS_END) == "true"


class _Envelope(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _MetaOnly(APIStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


_envelope = msgspec.json.Decoder(_Envelope).decode
_meta_only = msgspec.json.Decoder(_MetaOnly).decode
_status = msgspec.json.Decoder(Status).decode


def decode_event(line: bytes, res: Resource[T]) -> WatchEvent[T]:
    """One line. Raises the APIError of an ERROR event, DecodeError for an object that is not of its type."""
    try:
        envelope = _envelope(line)
        if envelope.type == BOOKMARK:
            return WatchEvent(BOOKMARK, _bookmark(envelope.object, res))
        if envelope.type == ERROR:
            raise from_status(_status(envelope.object), subject=res.plural)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"a watch of {res.plural} sent no event: {error}", subject=res.plural) from error
    return WatchEvent(envelope.type, decode_object(envelope.object, res))


def _bookmark(raw: msgspec.Raw, res: Resource[T]) -> T:
    # Built, not decoded: a bookmark carries nulls where the type wants values. Every kind has defaults.
    kind: Any = res.type
    built: T = kind(api_version=res.api_version, kind=res.kind, metadata=_meta_only(raw).metadata)
    return built


class LineSplitter:
    """Cuts a stream of chunks into lines, linear in the bytes whatever the length of a line."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their ends; empty lines are left out."""
        head, newline, rest = chunk.partition(b"\n")
        if not newline:
            self._partial.append(chunk)
            return []
        lines = rest.split(b"\n")
        lines.insert(0, b"".join((*self._partial, head)))
        last = lines.pop()
        self._partial = [last] if last else []
        return [line for line in lines if line]

    @property
    def inside_a_line(self) -> bool:
        return any(self._partial)
