"""Who ends the containers of a Pod: the kubelet of its Node, where it has one."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api.core import Node
from mco.apiserver.store.revision import Key
from mco.apiserver.store.store import Store

Obj = dict[str, Any]

NODES = "nodes"
PODS = "pods"

_nodes = msgspec.json.Decoder(Node)


def runs_containers(store: Store, pod: Obj) -> bool:
    """Whether somebody runs them, and will remove the Pod when they have stopped. A Node without a kubelet
    says so by an empty version (design.md 10)."""
    node = (pod.get("spec") or {}).get("nodeName")
    revision = store.get(Key(NODES, "", node)) if node else None
    return revision is not None and bool(_nodes.decode(revision.data).status.node_info.kubelet_version)
