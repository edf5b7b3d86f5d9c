"""Which process this is, for its lease: read from the container that it runs in, where it does.

The manifests pass POD_NAME, POD_NAMESPACE, POD_UID, NODE_NAME and CONTAINER_NAME (the downward API). Without
them the identity alone is known, and a killed holder's lease has to expire.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mco.api.resources import NODES
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import describe
from mco.kube.leader.holder import Holder
from mco.runtime.logging import Logger

TERMINATION_LOG = Path("/dev/termination-log")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_CONTAINERS_FIRST_PROCESS = 1

_log = Logger("mco.leader")


async def this_process(
    client: Client,
    environment: Mapping[str, str] = os.environ,
    *,
    pid: int | None = None,
    termination_log: Path = TERMINATION_LOG,
    boot_id: Path = _BOOT_ID,
) -> Holder:
    """Never fails: what cannot be found out stays empty. Writes the identity into the termination log.

    Only a container's first process speaks for the container: a second one (`kubectl exec`) would otherwise
    pass for its successor."""
    me = Holder(identity=f"{socket.gethostname()}_{uuid.uuid4()}")
    if (os.getpid() if pid is None else pid) == _CONTAINERS_FIRST_PROCESS:
        me = _with_pod(me, environment, termination_log)
    node = environment.get("NODE_NAME", "")
    return await _with_node(client, me, node, _read(boot_id)) if node else me


def _with_pod(me: Holder, environment: Mapping[str, str], termination_log: Path) -> Holder:
    fields = ("POD_NAMESPACE", "POD_NAME", "POD_UID", "CONTAINER_NAME")
    namespace, pod, uid, container = (environment.get(field, "") for field in fields)
    if not (namespace and pod and uid and container):
        return me
    me = msgspec.structs.replace(me, namespace=namespace, pod=pod, pod_uid=uid, container=container)
    try:
        termination_log.write_text(me.last_words)
    except OSError as error:
        _log.warning("the container's end will not prove ours", file=str(termination_log), error=str(error))
    return me


async def _with_node(client: Client, me: Holder, name: str, boot: str) -> Holder:
    """Only a Node that reports this very boot can show by another one that it ended."""
    try:
        node = await client.get(NODES, name)
    except MCOError as error:
        _log.warning("a reboot of the node will not prove our end", node=name, **describe(error))
        return me
    info = node.status.node_info
    if not boot or info.boot_id != boot:
        return me
    return msgspec.structs.replace(
        me, node=name, node_uid=node.metadata.uid, machine_id=info.machine_id, boot_id=boot
    )


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
