"""The pure packages do no I/O: they work where every file, socket and process is forbidden (design.md 3)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_pure_packages_work_where_io_is_forbidden() -> None:
    script = Path(__file__).with_name("purity.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "pure\n"
