"""What proves that a holder is gone, and what looks like it and does not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.core import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Lease,
    LeaseSpec,
    Node,
    NodeStatus,
    NodeSystemInfo,
    Pod,
    PodStatus,
)
from mco.api.meta.objects import ObjectMeta
from mco.api.resources import NODES
from mco.kube.client import Client
from mco.kube.leader.holder import Holder, of_lease, proof_of_death
from mco.kube.leader.identity import this_process

HOLDER = Holder(
    identity="host_1",
    namespace="ns",
    pod="operator-a",
    pod_uid="uid-a",
    container="operator",
    node="m1",
    node_uid="uid-m1",
    machine_id="machine-1",
    boot_id="boot-1",
)
ME = Holder(identity="host_2", namespace="ns", pod="operator-b", pod_uid="uid-b", container="operator")


def ended(words: str = HOLDER.last_words) -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(exit_code=137, message=words))


def pod(uid: str = "uid-a", *, name: str = "operator", **status: ContainerState) -> Pod:
    container = ContainerStatus(name=name, **status)
    return Pod(
        metadata=ObjectMeta(name="operator-a", namespace="ns", uid=uid),
        status=PodStatus(container_statuses=(container,)),
    )


def node(uid: str = "uid-m1", machine: str = "machine-1", boot: str = "boot-2") -> Node:
    info = NodeSystemInfo(machine_id=machine, boot_id=boot)
    return Node(metadata=ObjectMeta(name="m1", uid=uid), status=NodeStatus(node_info=info))


@pytest.mark.parametrize(
    ("found", "part"),
    [
        pytest.param({"pod": pod(state=ended())}, "reports the end", id="container ended"),
        pytest.param({"pod": pod(last_state=ended())}, "reports the end", id="container restarted"),
        pytest.param({"node": node()}, "started anew", id="node rebooted"),
        pytest.param(
            {"me": msgspec.structs.replace(ME, pod_uid="uid-a")}, "earlier process", id="our own container"
        ),
    ],
)
def test_proof(found: dict[str, Any], part: str) -> None:
    assert part in proof_of_death(HOLDER, **({"me": ME, "pod": None, "node": None} | found))


@pytest.mark.parametrize(
    "found",
    [
        pytest.param({}, id="Pod and Node vanished: a partition, or a deleted object"),
        pytest.param({"pod": pod()}, id="container without a state"),
        pytest.param({"pod": pod(uid="uid-c", state=ended())}, id="another Pod of that name"),
        pytest.param({"pod": pod(name="sidecar", state=ended())}, id="another container of the Pod"),
        pytest.param({"pod": pod(last_state=ended("leader election identity host_0"))}, id="the one before"),
        pytest.param({"pod": pod(last_state=ended(""))}, id="no last words"),
        pytest.param({"node": node(boot="boot-1")}, id="same boot, whatever its clock says"),
        pytest.param({"node": node(boot="")}, id="no boot reported"),
        pytest.param({"node": node(machine="machine-2")}, id="another machine of that name"),
        pytest.param({"node": node(uid="uid-m2")}, id="Node object deleted and made anew"),
        pytest.param(
            {"me": msgspec.structs.replace(ME, pod_uid="uid-a", container="sidecar")}, id="our sidecar"
        ),
    ],
)
def test_no_proof(found: dict[str, Any]) -> None:
    assert proof_of_death(HOLDER, **({"me": ME, "pod": None, "node": None} | found)) == ""


def test_a_holder_that_recorded_nothing_is_never_proved_dead() -> None:
    unknown = Holder(identity="host_1")
    assert proof_of_death(unknown, Holder(identity="host_2"), pod(uid="", state=ended()), node(uid="")) == ""


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (HOLDER.annotation()[names.LEASE_HOLDER], HOLDER),
        (ME.annotation()[names.LEASE_HOLDER], Holder(identity="host_1")),
        ("{", Holder(identity="host_1")),
        (None, Holder(identity="host_1")),
    ],
)
def test_who_holds_a_lease(annotation: str | None, expected: Holder) -> None:
    annotations = {names.LEASE_HOLDER: annotation} if annotation is not None else None
    found = Lease(
        metadata=ObjectMeta(name="l", annotations=annotations), spec=LeaseSpec(holder_identity="host_1")
    )
    assert of_lease(found) == expected
    assert of_lease(Lease()) is None


ENVIRONMENT = {
    "POD_NAMESPACE": "ns",
    "POD_NAME": "operator-a",
    "POD_UID": "uid-a",
    "CONTAINER_NAME": "operator",
    "NODE_NAME": "m1",
}


async def identify(api: Client, folder: Path, *, pid: int, reported: str) -> Holder:
    (folder / "boot_id").write_text("boot-1\n")
    await api.create(NODES, {"metadata": {"name": "m1"}})
    info = {"machineID": "machine-1", "bootID": reported}
    await api.patch(NODES, "m1", {"status": {"nodeInfo": info}}, subresource="status")
    return await this_process(
        api, ENVIRONMENT, pid=pid, termination_log=folder / "log", boot_id=folder / "boot_id"
    )


async def test_a_containers_first_process_says_who_it_is(api: Client, tmp_path: Path) -> None:
    me = await identify(api, tmp_path, pid=1, reported="boot-1")
    found = await api.get(NODES, "m1")
    assert me == msgspec.structs.replace(HOLDER, identity=me.identity, node_uid=found.metadata.uid)
    assert await asyncio.to_thread((tmp_path / "log").read_text) == me.last_words


async def test_a_second_process_of_a_container_does_not_speak_for_it(api: Client, tmp_path: Path) -> None:
    me = await identify(api, tmp_path, pid=7, reported="boot-1")
    assert (me.pod_uid, me.boot_id) == ("", "boot-1")
    assert not await asyncio.to_thread((tmp_path / "log").exists)


async def test_a_node_that_still_reports_its_boot_before_proves_nothing_later(
    api: Client, tmp_path: Path
) -> None:
    me = await identify(api, tmp_path, pid=1, reported="boot-0")
    assert (me.pod_uid, me.node_uid, me.boot_id) == ("uid-a", "", "")
