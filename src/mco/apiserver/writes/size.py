"""How large a stored object may be. A real server has the limits from etcd; what is stored here and is larger
could not move there."""

from __future__ import annotations

from mco.apiserver.errors import StatusError

_REQUEST = 1536 * 1024
_MESSAGE = 2 * 1024 * 1024


def check(data: bytes) -> None:
    """Raises StatusError 500, as the real server passes on what etcd, or the way to it, says."""
    if len(data) <= _REQUEST:
        return
    message = "etcdserver: request is too large"
    if len(data) > _MESSAGE:
        why = f"trying to send message larger than max ({len(data)} vs. {_MESSAGE})"
        message = f"rpc error: code = ResourceExhausted desc = {why}"
    raise StatusError(500, "", message)
