"""A node's identity: bootstrap token, certificate, renewal, refusals (design.md 10, identity)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mco.api import names
from mco.api.resources import CERTIFICATE_SIGNING_REQUESTS, NODES
from mco.base.errors import InvalidInput, Unavailable
from mco.daemon import enrolment, identity
from mco.daemon.identity import Denied, NodeIdentity
from mco.host.fake import FakeMachine
from mco.kube.client import Client
from mco.runtime.clock import SystemClock
from tests.daemon.builders import config
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIRST = config("identity")


class Calendar(SystemClock):
    """A wall clock that stands elsewhere."""

    def __init__(self, ahead: timedelta) -> None:
        self._ahead = ahead

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead


async def test_a_machine_joins_with_its_token(cluster: Cluster, machine: Machine) -> None:
    machine.kubeconfig = None
    await cluster.create(FIRST)
    await cluster.report_of(machine.name)
    machine.serve(FIRST)
    bootstrap = await cluster.bootstrap_kubeconfig(machine.name)
    machine.root.write(names.KUBECONFIG_FILE, bootstrap, mode=0o600)
    await machine.start()
    await cluster.done(machine.name, FIRST)
    status = machine.root.stat(names.NODE_KUBECONFIG_FILE)
    assert status is not None
    assert status.permissions == 0o600
    own = identity.load(machine.root, names.NODE_KUBECONFIG_FILE)
    assert own is not None
    found = identity.certificate(own)
    assert found is not None
    assert found.user == f"system:node:{machine.name}"
    assert not machine.root.exists(enrolment.KEY_FILE)


async def test_a_second_start_uses_the_certificate_it_has(cluster: Cluster, tmp_path: Path) -> None:
    machine = FakeMachine.create(tmp_path / "m", hostname="second")
    machine.root.write(names.KUBECONFIG_FILE, await cluster.bootstrap_kubeconfig("second"), mode=0o600)
    mine = NodeIdentity(machine.root, "second", machine.host.machine_id(), SystemClock())
    first = await mine.obtain()
    assert await mine.obtain() == first
    requests = await cluster.client.list(CERTIFICATE_SIGNING_REQUESTS)
    assert (
        len([r for r in requests.items if _machine(r.metadata.annotations) == machine.host.machine_id()]) == 1
    )


def _machine(annotations: dict[str, str] | None) -> str:
    return (annotations or {}).get(names.MACHINE_ID, "")


async def test_an_interrupted_request_is_gone_on_with(cluster: Cluster, tmp_path: Path) -> None:
    """The key is on the disk before the request: a restart asks for the same certificate."""
    machine = FakeMachine.create(tmp_path / "m", hostname="third")
    unreachable = (await cluster.bootstrap_kubeconfig("third")).replace(
        cluster.address.server.encode(), b"https://127.0.0.1:1"
    )
    machine.root.write(names.KUBECONFIG_FILE, unreachable, mode=0o600)
    mine = NodeIdentity(machine.root, "third", machine.host.machine_id(), SystemClock())
    with pytest.raises(Unavailable):
        await mine.obtain()
    key = machine.root.read(enrolment.KEY_FILE)
    machine.root.write(names.KUBECONFIG_FILE, await cluster.bootstrap_kubeconfig("third"), mode=0o600)
    assert (await mine.obtain()).user.key.read() == key
    assert not machine.root.exists(enrolment.KEY_FILE)


async def test_a_certificate_is_renewed_late_in_its_life(cluster: Cluster, tmp_path: Path) -> None:
    machine = FakeMachine.create(tmp_path / "m", hostname="fourth")
    machine.root.write(names.KUBECONFIG_FILE, await cluster.bootstrap_kubeconfig("fourth"), mode=0o600)
    machine_id = machine.host.machine_id()
    first = await NodeIdentity(machine.root, "fourth", machine_id, SystemClock()).obtain()
    late = NodeIdentity(machine.root, "fourth", machine_id, Calendar(timedelta(days=300)))
    async with Client(first) as client:
        second = await late.renewed(client, first)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await NodeIdentity(machine.root, "fourth", machine_id, SystemClock()).renewed(client, second)
    assert second.user.certificate.read() != first.user.certificate.read()
    assert identity.load(machine.root, names.NODE_KUBECONFIG_FILE) == second


@pytest.mark.parametrize("days", [-3650, 20])
async def test_a_wrong_clock_is_tolerated(cluster: Cluster, tmp_path: Path, days: int) -> None:
    name = f"clock{days}"
    machine = FakeMachine.create(tmp_path / "m", hostname=name)
    machine.root.write(names.KUBECONFIG_FILE, await cluster.bootstrap_kubeconfig(name), mode=0o600)
    clock = Calendar(timedelta(days=days))
    mine = NodeIdentity(machine.root, name, machine.host.machine_id(), clock)
    assert await mine.obtain() == await mine.obtain()


async def test_an_expired_certificate_needs_the_token_again(cluster: Cluster, tmp_path: Path) -> None:
    machine = FakeMachine.create(tmp_path / "m", hostname="expired")
    machine.root.write(names.KUBECONFIG_FILE, await cluster.bootstrap_kubeconfig("expired"), mode=0o600)
    machine_id = machine.host.machine_id()
    first = await NodeIdentity(machine.root, "expired", machine_id, SystemClock()).obtain()
    later = NodeIdentity(machine.root, "expired", machine_id, Calendar(timedelta(days=400)))
    assert await later.obtain() != first


async def test_a_taken_name_is_denied(cluster: Cluster, tmp_path: Path) -> None:
    body = {
        "metadata": {"name": "taken"},
        "status": {
            "nodeInfo": {"machineID": "f" * 32},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    await cluster.client.create(NODES, {"metadata": body["metadata"]})
    await cluster.client.patch(NODES, "taken", {"status": body["status"]}, subresource="status")
    await cluster.until(lambda: bool(cluster.get("taken").status.node_info.machine_id), "the other machine")
    machine = FakeMachine.create(tmp_path / "m", hostname="taken")
    machine.root.write(names.KUBECONFIG_FILE, await cluster.bootstrap_kubeconfig("taken"), mode=0o600)
    mine = NodeIdentity(machine.root, "taken", machine.host.machine_id(), SystemClock())
    with pytest.raises(Denied, match="is alive on another machine"):
        await mine.obtain()


async def test_without_any_kubeconfig_it_says_what_is_missing(tmp_path: Path) -> None:
    machine = FakeMachine.create(tmp_path / "m")
    mine = NodeIdentity(machine.root, "none", machine.host.machine_id(), SystemClock())
    with pytest.raises(InvalidInput, match="the node has no kubeconfig") as caught:
        await mine.obtain()
    assert caught.value.path == names.KUBECONFIG_FILE
    assert "config server" in caught.value.hint
