"""However a run ends, the host is afterwards what it was before. (The fixture compares, too.)"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mco.lab import cgroups, paths
from mco.lab.instance import open_lab
from tests.lab import keeper
from tests.lab.footprint import footprint

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


@contextlib.asynccontextmanager
async def _keeper(data: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process with an instance `two` and a running machine in it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(keeper.__file__), "two", str(data), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"running\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _gone(groups: tuple[Path, ...]) -> None:
    """Waits until what lives in the groups now is dead."""
    for pid in cgroups.members(groups):
        with contextlib.suppress(ProcessLookupError):
            await _death(os.pidfd_open(pid))


async def _death(process: int) -> None:
    dead = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process, dead.set)
    try:
        await asyncio.wait_for(dead.wait(), 20)
    finally:
        loop.remove_reader(process)
        os.close(process)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    before = footprint("two")
    async with _keeper(tmp_path / "data") as process:
        assert footprint("two") != before
        process.send_signal(number)
        assert await process.wait() == 0
    assert footprint("two") == before
    assert not (tmp_path / "data").exists()
    assert not paths.instance_folder("two").exists()


async def test_the_next_run_cleans_up_what_a_sigkill_left(tmp_path: Path) -> None:
    before = footprint("two")
    groups = cgroups.paths_for(paths.instance_tag("two"), 0)
    async with _keeper(tmp_path / "data") as process:
        process.kill()
        await process.wait()
    # The machine has died with it; the rest is still there.
    await _gone(groups)
    left = footprint("two")
    assert left.processes == ()
    assert left.mounts == before.mounts
    assert left.interfaces != ()
    assert left.cgroups != ()
    assert left.shared == ("two",)

    lines: list[str] = []
    async with open_lab("one", tmp_path / "other", throw_away=True, progress=lines.append):
        assert "cleaning up what instance two left behind" in lines
        found = footprint("two")
        assert (found.interfaces, found.cgroups, found.shared) == ((), (), ())
    assert footprint("two") == before
    assert not (tmp_path / "data").exists()
    assert not paths.instance_folder("two").exists()


async def test_a_running_instance_is_not_cleaned_up(tmp_path: Path) -> None:
    async with _keeper(tmp_path / "data") as process:
        running = footprint("two")
        lines: list[str] = []
        async with open_lab("one", tmp_path / "other", throw_away=True, progress=lines.append):
            assert lines == []
        assert footprint("two") == running
        process.terminate()
        await process.wait()


async def test_an_error_in_the_callers_code_leaves_nothing(tmp_path: Path) -> None:
    before = footprint("one")

    async def fail() -> None:
        async with open_lab("one", tmp_path / "data", throw_away=True) as lab:
            machine = lab.machine("worker-0", None)
            machine.start()
            await machine.running()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert footprint("one") == before


async def test_cancelling_twice_while_machines_boot_leaves_nothing(tmp_path: Path) -> None:
    before = footprint("one")
    booting = asyncio.Event()

    async def live() -> None:
        async with open_lab("one", tmp_path / "data", listen=lambda _: booting.set()) as lab:
            for number in range(2):
                lab.machine(f"worker-{number}", None).start()
            await asyncio.Event().wait()

    task = asyncio.create_task(live())
    await booting.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert footprint("one") == before
