"""Give memory back after many clients left.

glibc keeps what thousands of TLS connections freed, in arenas full of holes: a server that once served a
fleet would stay at its peak for ever. `malloc_trim` returns those pages.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable


def _find_trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
    return trim


_TRIM = _find_trim()


def release() -> None:
    """Return free memory to the system, where the C library can."""
    gc.collect()
    if _TRIM:
        _TRIM(0)
