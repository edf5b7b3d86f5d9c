"""One leader follows another: real processes on a real API server (spec/operator.md 2)."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from mco.api import names
from mco.api.core import Lease
from mco.api.resources import LEASES
from mco.kube.client import Client
from mco.runtime.clock import parse_rfc3339
from tests.handover.permissions import permitted
from tests.handover.processes import (
    COMPONENT,
    CONTROLLER,
    LEADS,
    OPERATOR,
    WAITS,
    Starter,
    durations,
    processes,
)
from tests.handover.way import way
from tests.servers.real import RealServer

SOON = 20.0
"""Far less than the original's 137 s, far more than it takes."""


async def lease_of(admin: Client, name: str = names.OPERATOR_LEASE) -> Lease:
    return await admin.get(LEASES, name, namespace=names.NAMESPACE)


@pytest.mark.parametrize("program", [OPERATOR, CONTROLLER], ids=lambda program: program[1])
async def test_a_standby_leads_as_soon_as_the_leader_has_stopped(
    server: RealServer, unscaled: Starter, program: tuple[str, ...]
) -> None:
    first = await unscaled.start(program, server.kubeconfig)
    await first.said(LEADS)
    standby, idle = [await unscaled.start(program, server.kubeconfig) for _ in range(2)]
    await asyncio.gather(standby.said(WAITS), idle.said(WAITS))
    idle.terminate()
    assert await idle.ended() == 0
    assert not idle.has_said("lease released")
    asked = first.terminate()
    assert await standby.said(LEADS) - asked < SOON
    assert await first.ended() == 0
    assert first.has_said("lease released")


async def test_an_outage_that_is_tolerated_changes_nothing(
    server: RealServer, admin: Client, tmp_path: Path
) -> None:
    async with way(server, tmp_path) as (line, proxy), processes(durations(9, 7.9, 2)) as starter:
        leader = await starter.start(COMPONENT, line.kubeconfig)
        await leader.said(LEADS)
        standby = await starter.start(COMPONENT, line.kubeconfig)
        await standby.said(WAITS)
        line.renewed.clear()
        await line.renewed.wait()
        await proxy.stop()
        await leader.said("lease not renewed", times=2)
        await proxy.start()
        line.renewed.clear()
        await line.renewed.wait()
        assert (await lease_of(admin)).spec.lease_transitions == 0
        assert not standby.has_said(LEADS)
        leader.terminate()
        assert await leader.ended() == 0


async def test_a_killed_leader_costs_its_lease(server: RealServer, admin: Client) -> None:
    async with processes(durations(3, 2.5, 0.5)) as starter:
        leader = await starter.start(COMPONENT, server.kubeconfig)
        await leader.said(LEADS)
        standby = await starter.start(COMPONENT, server.kubeconfig)
        await standby.said(WAITS)
        leader.kill()
        await leader.ended()
        left = await lease_of(admin)
        await standby.said(LEADS)
        taken = await lease_of(admin)
    assert left.spec.renew_time and taken.spec.acquire_time
    waited = parse_rfc3339(taken.spec.acquire_time) - parse_rfc3339(left.spec.renew_time)
    assert 3 <= waited.total_seconds() < 3 + SOON


@pytest.mark.parametrize("given_back", [True, False], ids=["given back", "gone for good"])
async def test_a_release_that_is_refused(
    server: RealServer, admin: Client, scaled: Starter, tmp_path: Path, given_back: bool
) -> None:
    """By permissions that were removed while it leads: tried again as long as there is time. A second SIGTERM
    ends the attempts, and the lease expires."""
    way = tmp_path / "kubeconfig"
    way.write_bytes(server.mint_kubeconfig("old-version"))
    async with permitted(admin, "old-version") as allow:
        first = await scaled.start(COMPONENT, way)
        await first.said(LEADS)
        standby = await scaled.start(COMPONENT, server.kubeconfig)
        await standby.said(WAITS)
        await allow(False)
        await first.said("lease not renewed")
        first.terminate()
        await first.said("lease not released", times=2)
        if given_back:
            await allow(True)
            await first.said("lease released")
            assert await first.ended() == 0
        else:
            first.terminate()
            assert await first.ended() == 128 + 15
        await standby.said(LEADS)
        because = next(line["because"] for _, line in standby.lines if line["message"] == LEADS)
        assert because == ("it was released" if given_back else "it was not renewed in time")


async def test_a_signal_before_there_is_anything_to_stop_is_heeded(
    server: RealServer, unscaled: Starter
) -> None:
    """The first process of a container does not get it by default."""
    process = await unscaled.start(OPERATOR, server.kubeconfig)
    while not process.handles(signal.SIGTERM):  # noqa: ASYNC110 - the kernel tells nobody
        await asyncio.sleep(0.005)
    process.terminate()
    assert await process.ended() == 0
