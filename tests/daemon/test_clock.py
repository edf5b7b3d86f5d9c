"""The wall clock jumps by a day, forwards and back, at rest and in the middle of updates: no harm is done."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from mco.api import names
from mco.host.fake import FakeMachine
from mco.runtime.clock import SystemClock
from tests.daemon.builders import config, file
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine

pytestmark = pytest.mark.asyncio(loop_scope="module")

DAY = timedelta(days=1)
STEPS = [config(str(n), files=[file("/etc/motd", f"{n}\n")], arguments=[f"step={n}"]) for n in range(4)]


class JumpingClock(SystemClock):
    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return super().now() + self.offset


async def test_a_jump_of_a_day_disturbs_no_update(cluster: Cluster, tmp_path: Path) -> None:
    clock = JumpingClock()
    FakeMachine.create(tmp_path / "m", hostname="jumping").close()
    machine = Machine(tmp_path / "m", "jumping", None, clock=clock)
    bootstrap = await cluster.bootstrap_kubeconfig("jumping")
    machine.root.write(names.KUBECONFIG_FILE, bootstrap, mode=0o600)
    await cluster.create(*STEPS)
    await cluster.report_of("jumping")
    machine.serve(STEPS[0])
    try:
        await machine.start()
        await cluster.done("jumping", STEPS[0])
        for number, jump in enumerate((DAY, -DAY, -DAY), start=1):
            clock.offset += jump
            await cluster.target("jumping", STEPS[number])
            await cluster.until(
                lambda: cluster.annotation("jumping", names.STATE) == names.STATE_WORKING, "it is at work"
            )
            clock.offset += jump
            await cluster.done("jumping", STEPS[number])
            assert machine.read("/etc/motd") == f"{number}\n"
            assert machine.reboots == number
    finally:
        await machine.stop()
        machine.machine.close()
    assert set(cluster.states["jumping"]) == {"", names.STATE_DONE, names.STATE_WORKING}
