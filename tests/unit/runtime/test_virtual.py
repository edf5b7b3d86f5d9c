"""Virtual time passes only while everything waits."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from mco.runtime import virtual
from mco.runtime.clock import SystemClock, parse_rfc3339, rfc3339, rfc3339_micro


def test_a_day_of_sleep_takes_no_time() -> None:
    async def main() -> datetime:
        clock = virtual.VirtualClock(datetime(2026, 3, 1, tzinfo=UTC))
        await clock.sleep(86400 * 3)
        return clock.now()

    began = time.monotonic()
    assert virtual.run(main()) == datetime(2026, 3, 4, tzinfo=UTC)
    assert time.monotonic() - began < 5


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    woken: list[tuple[int, float]] = []

    async def sleeper(seconds: int) -> None:
        await asyncio.sleep(seconds)
        woken.append((seconds, asyncio.get_running_loop().time()))

    async def main() -> None:
        await asyncio.gather(*map(sleeper, [50, 3, 700, 3]))

    virtual.run(main())
    assert woken == [(3, 3.0), (3, 3.0), (50, 50.0), (700, 700.0)]


def test_computing_takes_no_virtual_time() -> None:
    async def main() -> float:
        for _ in range(1000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert virtual.run(main()) == 0.0


def test_a_timeout_fires_at_its_virtual_time() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert virtual.run(main()) == 3600.0


def test_time_stands_still_while_a_thread_works() -> None:
    """Otherwise every timer would fire before a worker thread's answer."""

    def work() -> str:
        time.sleep(0.05)
        return "done"

    async def main() -> tuple[str, float]:
        async with asyncio.timeout(0.001):
            answer = await asyncio.to_thread(work)
        return answer, asyncio.get_running_loop().time()

    assert virtual.run(main()) == ("done", 0.0)


def test_time_stands_still_while_a_thread_of_its_own_computes() -> None:
    """A database writer is such a thread: it takes work from a queue and wakes the loop when it is done."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def work() -> None:
            until = time.monotonic() + 0.1
            while time.monotonic() < until:
                pass
            loop.call_soon_threadsafe(done.set_result, None)

        thread = threading.Thread(target=work)
        thread.start()
        async with asyncio.timeout(1):
            with virtual.work_outside():
                await done
        thread.join()
        return loop.time()

    assert virtual.run(main()) == 0.0


def test_an_ordinary_loop_needs_no_holding() -> None:
    async def main() -> None:
        with virtual.work_outside():
            await asyncio.sleep(0)

    asyncio.run(main())


def test_time_passes_while_a_thread_only_waits_for_work() -> None:
    async def main() -> float:
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait)
        thread.start()
        await asyncio.sleep(3600)
        stop.set()
        thread.join()
        return asyncio.get_running_loop().time()

    assert virtual.run(main()) == 3600.0


def test_data_on_a_socket_is_seen_before_time_moves() -> None:
    async def main() -> tuple[bytes, float]:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server, asyncio.timeout(1):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\n")
            line = await reader.readline()
            writer.close()
        return line, asyncio.get_running_loop().time()

    assert virtual.run(main()) == (b"hello\n", 0.0)


def test_the_virtual_clock_counts_from_its_start() -> None:
    async def main() -> tuple[datetime, float]:
        clock = virtual.VirtualClock()
        before = clock.now()
        await asyncio.sleep(90.5)
        return clock.now(), (clock.now() - before).total_seconds()

    now, passed = virtual.run(main())
    assert passed == 90.5
    assert now.tzinfo is UTC


def test_the_system_clock_is_in_utc_and_its_monotonic_time_is_the_loops() -> None:
    async def main() -> None:
        clock = SystemClock()
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
        assert abs(clock.monotonic() - asyncio.get_running_loop().time()) < 1
        await clock.sleep(-1)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "micro"),
    [
        ("2026-11-30T17:22:17Z", "2026-11-30T17:22:17.000000Z"),
        ("2026-11-30T18:22:17+01:00", "2026-11-30T17:22:17.000000Z"),
        ("2026-11-30T17:22:17.25Z", "2026-11-30T17:22:17.250000Z"),
    ],
)
def test_times_are_written_as_kubernetes_writes_them(text: str, micro: str) -> None:
    moment = parse_rfc3339(text)
    assert rfc3339(moment) == "2026-11-30T17:22:17Z"
    assert rfc3339_micro(moment) == micro


@pytest.mark.parametrize("text", ["2026-11-30T17:22:17", "yesterday", ""])
def test_a_time_without_a_zone_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rfc3339(text)
