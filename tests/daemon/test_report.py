"""What a node says is staged and written together; a MachineConfigNode may appear late."""

from __future__ import annotations

from mco.api.meta import conditions as cond
from mco.api.resources import MACHINE_CONFIG_NODES, NODES
from mco.daemon import texts
from mco.daemon.report import Reporter
from mco.kube.client import Client
from mco.kube.events import Recorder
from mco.runtime.clock import SystemClock
from mco.sim.memory import Memory


async def test_what_was_said_last_counts_however_often_it_was_said_before() -> None:
    memory = Memory()
    client = Client(memory)
    reporter = Reporter(client, Recorder(client, "test", "default"), SystemClock())
    memory.follow(NODES, "n", lambda _, node: reporter.saw_node(node))
    memory.follow(MACHINE_CONFIG_NODES, "n", lambda _, mcn: reporter.saw_mcn(mcn))
    memory.add(NODES, {"metadata": {"name": "n"}})
    for step in (texts.failure("n", "no space"), texts.success("n"), texts.failure("n", "no space")):
        reporter.step(step)
        await reporter.flush()
    memory.add(MACHINE_CONFIG_NODES, {"metadata": {"name": "n"}})
    before = memory.writes
    await reporter.flush()
    assert memory.writes == before + 1, "all of it at once"
    assert reporter.mcn is not None
    found = cond.find(reporter.mcn.status.conditions, "NodeDegraded")
    assert found is not None
    assert (found.status, found.message) == ("True", "Node n upgrade failure. no space")
    await reporter.flush()
    assert memory.writes == before + 1
