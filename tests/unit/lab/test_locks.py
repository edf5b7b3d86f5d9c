from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mco.base.errors import Conflict
from mco.lab.locks import Lock, is_held, purpose, wait_for

_HOLDER = """\
import sys, pathlib
from mco.lab.locks import Lock
lock = Lock(pathlib.Path(sys.argv[1]), purpose="running")
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_lock_of_another_process_holds_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        assert is_held(path)
        assert purpose(path) == "running"
        with pytest.raises(Conflict, match="another process holds the lock"):
            Lock(path, blocking=False)
        holder.kill()
        holder.wait()
    assert not is_held(path)
    Lock(path, blocking=False).release()


def test_what_the_holder_starts_does_not_keep_it(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    with subprocess.Popen(["sleep", "1000"]) as child:
        lock.release()
        assert not is_held(tmp_path / "lock")
        child.kill()


def test_a_lock_in_a_folder_that_must_not_stay_takes_its_file_with_it(tmp_path: Path) -> None:
    path = tmp_path / "made" / "lock"
    with Lock(path, removes=True):
        assert path.exists()
    assert not path.exists()
    assert not is_held(path)


async def test_waiting_ends_when_it_is_free(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")
    first.release()
    with await wait_for(tmp_path / "lock", purpose="mine"):
        assert purpose(tmp_path / "lock") == "mine"
