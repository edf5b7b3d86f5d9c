"""Clients that send nothing, little or read nothing: each costs a bounded time (stack.md 3)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mco.configserver.limits import Limits
from tests.configserver.clients import Wire, connected, fixed_front, new_authority, served, serving, trusting

IGNITION = "application/vnd.coreos.ignition+json;version=3.5.0"
ROOT = new_authority()
SHORT = Limits(receive=0.3, idle=0.3, stall=0.3)
PATIENT = Limits(receive=30, idle=30, stall=30)
SOON = 3.0
"""Seconds in which a deadline of 0.3 s must have acted, on a busy machine too."""


@contextlib.asynccontextmanager
async def cut_off_within(seconds: float) -> AsyncIterator[None]:
    started = time.monotonic()
    async with asyncio.timeout(seconds):
        yield
    assert time.monotonic() - started > 0.2, "it was cut off before its time"


async def test_tcp_silence_on_the_tls_port(tmp_path: Path) -> None:
    async with (
        served(fixed_front(), SHORT, serving(ROOT, tmp_path).context) as (_, port),
        connected(port) as wire,
        cut_off_within(SOON),
    ):
        await wire.closed()


async def test_tls_silence(tmp_path: Path) -> None:
    async with (
        served(fixed_front(), SHORT, serving(ROOT, tmp_path).context) as (_, port),
        connected(port, trusting(ROOT)) as wire,
        cut_off_within(SOON),
    ):
        await wire.closed()


@pytest.mark.parametrize("tls", [False, True])
async def test_a_trickle_of_header_bytes_buys_no_time(tmp_path: Path, tls: bool) -> None:
    context = serving(ROOT, tmp_path).context if tls else None
    async with (
        served(fixed_front(), SHORT, context) as (_, port),
        connected(port, trusting(ROOT) if tls else None) as wire,
        cut_off_within(SOON),
    ):
        trickle = asyncio.create_task(send_slowly(wire))
        await wire.closed()
        trickle.cancel()


async def send_slowly(wire: Wire) -> None:
    for byte in b"GET /healthz HTTP/1.1\r\nX-Slow: " + b"y" * 10_000:
        wire.writer.write(bytes([byte]))
        await asyncio.sleep(0.05)


async def test_a_trickle_after_an_answer_buys_no_time_either() -> None:
    async with served(fixed_front(), Limits(receive=0.3, idle=30)) as (_, port), connected(port) as wire:
        assert (await wire.ask("GET", "/healthz")).status == 200
        async with cut_off_within(SOON):
            trickle = asyncio.create_task(send_slowly(wire))
            await wire.closed()
            trickle.cancel()


async def test_an_idle_connection_is_closed() -> None:
    async with served(fixed_front(), Limits(receive=30, idle=0.3)) as (_, port), connected(port) as wire:
        assert (await wire.ask("GET", "/healthz")).status == 200
        async with cut_off_within(SOON):
            await wire.closed()


@pytest.mark.parametrize("tls", [False, True])
async def test_a_client_that_reads_nothing_is_cut_off(tmp_path: Path, tls: bool) -> None:
    context = serving(ROOT, tmp_path).context if tls else None
    limits = Limits(receive=30, idle=30, stall=0.3)
    async with (
        served(fixed_front(8_000_000), limits, context) as (server, port),
        not_reading(port, trusting(ROOT) if tls else None),
        cut_off_within(SOON),
    ):
        await server.empty()


async def test_a_client_that_reads_slowly_is_served_to_the_end() -> None:
    """Slower than the stall deadline in all, but never silent for so long."""
    size = 3_000_000
    limits = Limits(receive=30, idle=30, stall=1.0)
    async with served(fixed_front(size), limits) as (_, port), connected(port) as wire:
        await wire.send("GET", "/config/worker", Accept=IGNITION)
        received = 0
        while received < size:
            received += len(await wire.reader.read(65_536))
            await asyncio.sleep(0.03)
        assert received > size


async def test_a_client_that_leaves_costs_nothing(tmp_path: Path) -> None:
    async with served(fixed_front(8_000_000), PATIENT, serving(ROOT, tmp_path).context) as (server, port):
        for _ in range(5):
            async with not_reading(port, trusting(ROOT)):
                assert server.connections >= 1
        async with asyncio.timeout(SOON):
            await server.empty()


@contextlib.asynccontextmanager
async def not_reading(port: int, context: ssl.SSLContext | None) -> AsyncIterator[None]:
    """A client that has asked and takes nothing; its buffers are small, so the kernel takes little for it."""
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    small.setblocking(False)
    await asyncio.get_running_loop().sock_connect(small, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(
        sock=small, ssl=context, server_hostname="127.0.0.1" if context else None, limit=2048
    )
    await Wire(reader, writer).send("GET", "/config/worker", Accept=IGNITION)
    await reader.readexactly(1)
    try:
        yield
    finally:
        writer.transport.abort()
