"""Which version this is (design.md 10, versions): `RAW` is the package's version, `commit()` the source's.

The commit is read from the file that a build leaves beside this one, else from the checkout that the package
runs from, else it is `unknown`.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

RAW = "0.1.0"
COMMIT_FILE = "runtime/commit"
"""In the package, where a build leaves the commit."""


@cache
def commit() -> str:
    """The 40 digits of the commit, or `unknown`."""
    package = Path(__file__).parents[1]
    built = package / COMMIT_FILE
    if built.is_file():
        return built.read_text().strip()
    try:
        top = package.parents[1]
        if not (top / ".git").exists():
            return "unknown"
        run = subprocess.run(
            ["git", "-C", top, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return run.stdout.strip() if run.returncode == 0 else "unknown"
