"""The report of a slow hand-over does not come true any more (spec/operator.md 0.2)."""

from __future__ import annotations

from pathlib import Path

from mco.kube.client import Client
from tests.handover.replay import BOTH, LEASE, NONE, replay
from tests.servers.real import RealServer


async def test_version_b_leads_at_once_and_then_a_loses_its_permissions(
    server: RealServer, admin: Client, tmp_path: Path
) -> None:
    story = await replay(server, admin, tmp_path, NONE)
    assert story.took < LEASE / 3
    assert story.safe


async def test_with_both_faults_of_the_report_b_waits_for_the_lease(
    server: RealServer, admin: Client, tmp_path: Path
) -> None:
    story = await replay(server, admin, tmp_path, BOTH)
    assert story.took > LEASE - 1
    assert not story.safe
