"""The image that holds a pod's namespaces open: one program that waits, made here byte by byte, so that
neither a registry nor a compiler is needed.

It reaps no children: a pod that shares its process namespace keeps its zombies until it ends.
"""

from __future__ import annotations

import platform
import struct

from mco.base.errors import Unsupported

NAME = "localhost/pause:1"

_BASE = 0x400000
_HEADERS = struct.Struct("<16sHHIQQQIHHHHHH" + "IIQQQQQQ")

# An endless loop around the one system call that only waits: pause(2), or ppoll(2) where that does not exist.
_CODE = {
    # mov eax, 34; syscall; jmp back
    "x86_64": (62, bytes.fromhex("b822000000 0f05 ebf7")),
    # mov x0..x3, #0; mov x8, #73; svc #0; b back
    "aarch64": (
        183,
        struct.pack(
            "<7I", 0xD2800000, 0xD2800001, 0xD2800002, 0xD2800003, 0xD2800928, 0xD4000001, 0x17FFFFFA
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
    size = _HEADERS.size + len(code)
    identity = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian, version 1
    entry = _BASE + _HEADERS.size
    headers = _HEADERS.pack(
        *(identity, 2, number, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0),  # an executable with one segment:
        *(1, 5, 0, _BASE, _BASE, size, size, 0x1000),  # the whole file, to be read and executed
    )
    return headers + code
