from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mco.base.errors import Conflict
from mco.host.lock import MachineLock
from mco.host.root import Root

_HOLDER = """
import subprocess, sys
from mco.host.lock import MachineLock
from mco.host.root import Root
lock = MachineLock(Root(sys.argv[1]), "/lock")
lock.acquire()
child = subprocess.Popen(["sleep", "60"], close_fds=False)
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_the_second_daemon_is_told_which_process_holds_the_machine(root: Root) -> None:
    with (
        MachineLock(root, "/state/lock"),
        pytest.raises(Conflict, match=rf"^another daemon runs on this machine \(process {os.getpid()}\)$"),
    ):
        MachineLock(root, "/state/lock").acquire()
    with MachineLock(root, "/state/lock"):
        pass


def test_a_killed_holder_leaves_no_lock_even_when_its_children_live(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        try:
            with Root(tmp_path) as root:
                with pytest.raises(Conflict, match=f"process {holder.pid}"):
                    MachineLock(root, "/lock").acquire()
                holder.kill()
                holder.wait()
                MachineLock(root, "/lock").acquire()
        finally:
            os.kill(child, 9)
