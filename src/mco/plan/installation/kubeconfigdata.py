"""When the authorities of the API server, as the cluster names them, go to new machines
(spec/operator.md 1.11).

While the cluster makes new ones it names several sets one after another; what is written is what stays."""

from __future__ import annotations

import msgspec

NAME, KEY = "kubeconfig-data", "ca-bundle.crt"
"""Of the ConfigMap in our namespace, and of the bundle in its binary data."""
SETTLE = 60.0
"""Seconds without a further change."""


class Seen(msgspec.Struct, frozen=True):
    """What the cluster names, and since when, on a monotonic clock."""

    bundle: bytes
    since: float


def seen(before: Seen | None, bundle: bytes, now: float) -> Seen:
    return before if before is not None and before.bundle == bundle else Seen(bundle, now)


def due(found: Seen, have: bytes | None, now: float) -> bool:
    """Whether it has to be written now; `have` is what machines get, None for nothing."""
    if have is None:
        return True
    return found.bundle != have and now - found.since >= SETTLE
