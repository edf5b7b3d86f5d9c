"""Who holds a lease, as precisely as an API server can tell later that he is gone.

A holder that was killed releases nothing, and the rest of its lease is time lost. But its end is often
visible: the kubelet reports a container's end, and a node its new boot. Both differ from a mere silence:

- The process writes its identity into its container's termination log. A terminated container whose message
  is that identity is that very process; no clock and no stale report can pretend it.
- Nobody but a container's first process claims the Pod's uid and the container's name; the next one of the
  same container starts after it.
- A Node with the same uid and machine id but another boot id has been started anew since.

A Pod that vanished, a Node that is not ready: these prove nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mco.api import names
from mco.api.core import ContainerState, Lease, Node, Pod

_LAST_WORDS = "leader election identity "


class Holder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """`identity` is the Lease's holderIdentity; what is not known is empty, and then proves nothing."""

    identity: str
    namespace: str = ""
    pod: str = ""
    pod_uid: str = ""
    container: str = ""
    node: str = ""
    node_uid: str = ""
    machine_id: str = ""
    boot_id: str = ""

    @property
    def last_words(self) -> str:
        """The text for the container's termination log."""
        return _LAST_WORDS + self.identity

    def annotation(self) -> Mapping[str, str]:
        return {names.LEASE_HOLDER: msgspec.json.encode(self).decode()}


def of_lease(lease: Lease) -> Holder | None:
    """Who holds it; None when nobody does. An annotation that is missing, broken or another holder's says
    nothing more about the holder."""
    identity = lease.spec.holder_identity
    if not identity:
        return None
    try:
        holder = msgspec.json.decode(lease.metadata.annotation(names.LEASE_HOLDER) or "", type=Holder)
    except msgspec.DecodeError:
        return Holder(identity=identity)
    return holder if holder.identity == identity else Holder(identity=identity)


def proof_of_death(holder: Holder, me: Holder, pod: Pod | None, node: Node | None) -> str:
    """Why that process is certainly gone, or nothing. `pod` and `node` are what the API has now under the
    holder's names."""
    if holder.pod_uid and (holder.pod_uid, holder.container) == (me.pod_uid, me.container):
        return "it was an earlier process of this container"
    if pod is not None and pod.metadata.uid == holder.pod_uid and _ended(holder, pod):
        return f"the kubelet reports the end of its container {holder.container} in Pod {pod.key}"
    if node is not None and _booted_since(holder, node):
        return f"node {node.name} has been started anew"
    return ""


def _ended(holder: Holder, pod: Pod) -> bool:
    states: list[ContainerState] = []
    for status in pod.status.container_statuses or ():
        if status.name == holder.container:
            states += [status.state, status.last_state]
    return any(s.terminated is not None and s.terminated.message == holder.last_words for s in states)


def _booted_since(holder: Holder, node: Node) -> bool:
    info = node.status.node_info
    same_machine = (
        bool(holder.node_uid and holder.machine_id)
        and (node.metadata.uid, info.machine_id) == (holder.node_uid, holder.machine_id)
    )  # fmt: skip
    return same_machine and bool(info.boot_id and holder.boot_id) and info.boot_id != holder.boot_id
