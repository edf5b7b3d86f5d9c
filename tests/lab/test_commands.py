"""`mco lab` beside the process that runs the machines."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from mco.lab.commands import Completed, complete
from mco.lab.instance import open_lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


async def _mco(*arguments: str) -> Completed:
    program = "from mco.cli.main import main; main()"
    return await complete([sys.executable, "-c", program, "lab", *arguments], environment=os.environ)


async def test_the_lab_commands(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data") as lab:
        machine = lab.machine("worker-0", None)
        machine.start()
        await machine.running()

        listed = json.loads((await _mco("list", "--name", "one", "-o", "json")).check().stdout)
        assert listed == [{"name": "worker-0", "state": "running", "boots": 1, "address": machine.address}]
        table = (await _mco("list", "--name", "one")).check().text.splitlines()
        assert [line.split() for line in table] == [
            ["NAME", "STATE", "BOOTS", "ADDRESS"],
            ["worker-0", "running", "1", machine.address],
        ]

        found = await _mco("exec", "--name", "one", "worker-0", "--", "sh", "-c", "uname -n; exit 7")
        assert (found.code, found.text) == (7, "worker-0")
        refused = await _mco("exec", "--name", "one", "other", "--", "true")
        assert refused.code == 1
        assert b'error: machine "other" not found' in refused.stderr
        assert b"machines of instance one: worker-0" in refused.stderr

        crashed = (await _mco("crash", "--name", "one", "worker-0")).check()
        assert crashed.text == "machine/worker-0 crashed"
        await machine.running(boots=2)
        logs = (await _mco("logs", "--name", "one", "worker-0")).check().stdout
        assert logs.count(b"Reached target") >= 2

    stopped = json.loads((await _mco("list", "--name", "one", "-o", "json")).check().stdout)
    assert [each["state"] for each in stopped] == ["stopped"]
    assert (await _mco("logs", "--name", "one", "worker-0")).check().stdout.startswith(logs)
    down = await _mco("exec", "--name", "one", "worker-0", "--", "true")
    assert down.code == 1
    assert b"the machine is not running" in down.stderr


async def test_logs_are_followed(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data", throw_away=True) as lab:
        machine = lab.machine("worker-0", None)
        machine.start()
        await machine.running()
        program = "from mco.cli.main import main; main()"
        follower = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, "lab", "logs", "--name", "one", "worker-0", "--follow"),
            stdout=asyncio.subprocess.PIPE,
        )
        assert follower.stdout is not None
        try:
            (await machine.exec(["sh", "-c", "echo said-just-now >/dev/console"])).check()
            async with asyncio.timeout(20):
                async for line in follower.stdout:
                    if b"said-just-now" in line:
                        break
        finally:
            follower.kill()
            await follower.wait()
