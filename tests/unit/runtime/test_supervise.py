"""Parts of a process run together: all of them, or none."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from mco.base.errors import Unavailable
from mco.runtime import virtual
from mco.runtime.supervise import Part, PartFailed, supervise


def run(grace: float = 30.0, **parts: Part) -> signal.Signals | None:
    return virtual.run(supervise(parts, grace=grace, signals=False))


class Endless:
    """A part that runs until it is cancelled and then cleans up for `cleanup` seconds."""

    def __init__(self, cleanup: float = 0.0) -> None:
        self.cleaned = False
        self._cleanup = cleanup

    async def __call__(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(self._cleanup)
            self.cleaned = True


async def fails() -> None:
    await asyncio.sleep(5)
    raise Unavailable("no API server")


def test_the_first_failure_stops_the_others_and_is_named() -> None:
    other = Endless(cleanup=3)
    with pytest.raises(PartFailed) as caught:
        run(render=other, node=fails)
    assert str(caught.value) == "node failed: no API server"
    assert caught.value.subject == "node"
    assert isinstance(caught.value.__cause__, Unavailable)
    assert other.cleaned


def test_parts_that_end_by_themselves_end_it_all_when_the_last_is_through() -> None:
    ended: list[float] = []

    def ends_after(seconds: float) -> Part:
        async def part() -> None:
            await asyncio.sleep(seconds)
            ended.append(seconds)

        return part

    assert run(a=ends_after(5), b=ends_after(50)) is None
    assert ended == [5, 50]


def test_a_part_that_does_not_stop_is_left_behind_after_the_grace() -> None:
    async def main() -> float:
        with pytest.raises(PartFailed):
            await supervise({"stuck": Endless(cleanup=1000), "bad": fails}, grace=10, signals=False)
        return asyncio.get_running_loop().time()

    assert virtual.run(main()) == pytest.approx(15)


def test_cancelling_the_supervisor_cancels_the_parts() -> None:
    part = Endless(cleanup=1)

    async def main() -> None:
        task = asyncio.create_task(supervise({"a": part}, signals=False))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    virtual.run(main())
    assert part.cleaned


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_every_part_and_is_no_failure(number: signal.Signals) -> None:
    part = Endless()

    async def main() -> signal.Signals | None:
        async def asks() -> None:
            os.kill(os.getpid(), number)
            await part()

        return await supervise({"a": asks})

    def of_the_process(*_: object) -> None:
        raise AssertionError("the signal reached the handler that was there before")

    found = signal.signal(number, of_the_process)
    try:
        assert asyncio.run(main()) is number
        assert part.cleaned
        assert signal.getsignal(number) is of_the_process
    finally:
        signal.signal(number, found)


def test_a_real_process_cleans_up_on_sigterm_and_exits_with_success() -> None:
    program = textwrap.dedent("""
        import asyncio
        from mco.runtime.supervise import supervise
        async def part():
            try:
                print("up", flush=True)
                await asyncio.Event().wait()
            finally:
                print("clean", flush=True)
        asyncio.run(supervise({"part": part}))
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.terminate()
        assert process.stdout.read() == "clean\n"
        assert process.wait() == 0


@pytest.mark.parametrize(("second", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
def test_the_same_signal_again_ends_a_process_that_is_stuck(second: signal.Signals, code: int) -> None:
    program = textwrap.dedent("""
        import asyncio, sys
        from mco.runtime.supervise import supervise
        async def part():
            try:
                print("up", flush=True)
                await asyncio.Event().wait()
            finally:
                print("stopping", flush=True)
                sys.stdin.read()
        asyncio.run(supervise({"part": part}))
    """)
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.terminate()
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(second)
        if code == 0:
            process.stdin.close()
        assert process.wait() == code
