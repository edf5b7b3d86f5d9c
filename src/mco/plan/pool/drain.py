"""What a drain request asks for, and which pods have to go (spec/node.md 4)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mco.api import names
from mco.api.core import Node, Pod
from mco.base.errors import InvalidInput

_MIRROR = "kubernetes.io/config.mirror"


class DrainRequest(msgspec.Struct, frozen=True):
    """`key` is the annotation's text, written back verbatim when it is fulfilled."""

    key: str
    cordon: bool


def pending(node: Node) -> DrainRequest | None:
    """What the daemon asks for and did not get yet. Raises InvalidInput for a verb nobody knows."""
    key = node.metadata.annotation(names.DESIRED_DRAIN) or ""
    if not key or key == node.metadata.annotation(names.LAST_APPLIED_DRAIN):
        return None
    verb = key.partition("-")[0]
    if verb not in ("drain", "uncordon"):
        raise InvalidInput(
            f"node {node.name}: unsupported drain verb {verb}",
            subject=f"Node/{node.name}",
            path=f"$.metadata.annotations['{names.DESIRED_DRAIN}']",
            hint="remove the annotation; the daemon writes drain-<config> or uncordon-<config>",
        )
    return DrainRequest(key, verb == "drain")


def evictable(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The pods that have to leave: all but mirrors of static pods and what a DaemonSet would put back."""
    return tuple(pod for pod in pods if not _stays(pod))


def _stays(pod: Pod) -> bool:
    controller = pod.metadata.controller()
    if pod.metadata.annotation(_MIRROR) is not None:
        return True
    return controller is not None and controller.kind == "DaemonSet"
