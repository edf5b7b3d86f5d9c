"""What the system lets a process have."""

from __future__ import annotations

import resource


def raise_file_limit() -> None:
    """Allow this process as many connections as the system lets it have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
