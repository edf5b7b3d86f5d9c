"""The image that holds a pod's namespaces open: one program that waits, made here byte by byte, so that
neither a registry nor a compiler is needed.

It ends with SIGTERM or SIGINT. It reaps no children: a pod that shares its process namespace keeps its
zombies until it ends.
"""

from __future__ import annotations

import platform
import signal
import struct

from mco.base.errors import Unsupported

NAME = "localhost/pause:1"

_BASE = 0x400000
_HEADERS = struct.Struct("<16sHHIQQQIHHHHHH" + "IIQQQQQQ")

# SIGINT and SIGTERM as a set of signals, which stands behind the code. The first process of a namespace never
# gets a signal that it has no handler for, unless it is blocked: then it can be waited for.
_SIGNALS = struct.pack("<Q", 1 << (signal.SIGINT - 1) | 1 << (signal.SIGTERM - 1))

# Machine code: rt_sigprocmask(SIG_BLOCK, signals), rt_sigtimedwait(signals) until there is one, exit(0).
_CODE = {
    "x86_64": (
        62,
        bytes.fromhex(
            "b80e000000 31ff 488d352f000000 31d2 41ba08000000 0f05"  # eax=14, rsi=signals
            "b880000000 488d3d19000000 31f6 31d2 41ba08000000 0f05"  # eax=128, rdi=signals
            "85c0 78e4"  # negative: again
            "b83c000000 31ff 0f05"  # eax=60
        ),
    ),
    "aarch64": (
        183,
        struct.pack(
            "<16I",
            *(0xD2800000, 0x100001E1, 0xD2800002, 0xD2800103, 0xD28010E8, 0xD4000001),  # x8=135, x1=signals
            *(0x10000140, 0xD2800001, 0xD2800002, 0xD2800103, 0xD2801128, 0xD4000001),  # x8=137, x0=signals
            0xB7FFFF40,  # negative: again
            *(0xD2800000, 0xD2800BA8, 0xD4000001),  # x8=93
        ),
    ),
}


def program(machine: str = "") -> bytes:
    """A static ELF executable for this host's architecture, or `machine`'s. Raises Unsupported for one that
    nobody has written a loop for."""
    name = machine or platform.machine()
    if name not in _CODE:
        raise Unsupported(f"there is no pause program for {name}", hint=f"known: {', '.join(_CODE)}")
    number, code = _CODE[name]
    code += _SIGNALS
    size = _HEADERS.size + len(code)
    identity = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian, version 1
    entry = _BASE + _HEADERS.size
    headers = _HEADERS.pack(
        *(identity, 2, number, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0),  # an executable with one segment:
        *(1, 5, 0, _BASE, _BASE, size, size, 0x1000),  # the whole file, to be read and executed
    )
    return headers + code
