"""What a drain request asks for, which pods have to go, and who forbids it (spec/node.md 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mco.api import names
from mco.api.core import Node, Pod, PodDisruptionBudget
from mco.api.meta.objects import OwnerReference
from mco.api.meta.selectors import selector
from mco.base.errors import InvalidInput

_MIRROR = "kubernetes.io/config.mirror"
_FINISHED = ("Succeeded", "Failed")


class DrainRequest(msgspec.Struct, frozen=True):
    """`key` is the annotation's text, written back verbatim when it is fulfilled."""

    key: str
    cordon: bool
    fulfilled: bool = False


def request(node: Node) -> DrainRequest | None:
    """What the daemon asked for last. Raises InvalidInput for a verb nobody knows."""
    key = node.metadata.annotation(names.DESIRED_DRAIN) or ""
    fulfilled = key == node.metadata.annotation(names.LAST_APPLIED_DRAIN)
    verb = key.partition("-")[0]
    if verb in ("drain", "uncordon"):
        return DrainRequest(key, verb == "drain", fulfilled)
    if not key or fulfilled:
        return None
    raise InvalidInput(
        f"node {node.name}: unsupported drain verb {verb}",
        subject=f"Node/{node.name}",
        path=f"$.metadata.annotations['{names.DESIRED_DRAIN}']",
        hint="remove the annotation; the daemon writes drain-<config> or uncordon-<config>",
    )


def movable(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """All but mirrors of static pods, which their kubelet would put back."""
    return tuple(pod for pod in pods if pod.metadata.annotation(_MIRROR) is None)


def daemon_set(pod: Pod) -> OwnerReference | None:
    """The DaemonSet that would put the pod back: it stays, as long as there is such a DaemonSet and the pod
    has work to do."""
    owner = pod.metadata.controller()
    ours = owner is not None and owner.kind == "DaemonSet" and pod.status.phase not in _FINISHED
    return owner if ours else None


def refusal(pod: Pod, message: str, budgets: Iterable[PodDisruptionBudget]) -> str:
    """A sentence that names the pod and each budget that covers it, with what it allows; `message` is the
    server's."""
    said = [_allows(budget) for budget in budgets if _covers(budget, pod)]
    return ": ".join([f"pod {pod.key}", *([", ".join(said)] if said else []), message])


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    same = budget.metadata.namespace == pod.metadata.namespace
    try:
        return same and selector(budget.spec.selector).matches(pod.metadata.labels)
    except InvalidInput:
        return False


def _allows(budget: PodDisruptionBudget) -> str:
    allowed = budget.status.disruptions_allowed
    return f"budget {budget.name} allows {allowed} disruption{'' if allowed == 1 else 's'}"


def draining(refusals: Sequence[str]) -> str:
    """What a node's report says while its pods leave."""
    return " ".join(("Draining...", "; ".join(refusals))).rstrip()
