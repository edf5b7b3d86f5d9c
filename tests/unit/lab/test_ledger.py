from __future__ import annotations

import os
import subprocess
from pathlib import Path

from mco.lab import cleanup
from mco.lab.commands import start_time
from mco.lab.ledger import Bridge, Cgroup, Folder, Ledger, Process, Settings


def test_another_process_reads_what_was_written(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    group = Cgroup(paths=("/sys/fs/cgroup/unified/x", "/sys/fs/cgroup/systemd/x"))
    for entry in (Settings(instance="/a"), Bridge(name="b"), group):
        ledger.add(entry)
    ledger.remove(Bridge(name="b"))
    assert Ledger(tmp_path / "ledger").entries == (Settings(instance="/a"), group)


def test_an_entry_added_twice_is_one(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(Bridge(name="b"))
    ledger.add(Bridge(name="b"))
    ledger.remove(Bridge(name="b"))
    assert ledger.entries == ()


def test_the_file_goes_with_the_last_entry(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(Bridge(name="b"))
    assert (tmp_path / "ledger").stat().st_mode & 0o777 == 0o600
    ledger.remove(Bridge(name="b"))
    assert not (tmp_path / "ledger").exists()


def test_a_torn_last_line_hides_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(Bridge(name="b"))
    ledger.add(Folder(path="/x"))
    raw = (tmp_path / "ledger").read_bytes()
    (tmp_path / "ledger").write_bytes(raw[:-5])
    assert Ledger(tmp_path / "ledger").entries == (Bridge(name="b"),)


def test_a_folder_that_was_never_made_is_undone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    (tmp_path / "there").mkdir()
    ledger.add(Folder(path=str(tmp_path / "there")))
    ledger.add(Folder(path=str(tmp_path / "never")))
    cleanup.clean(ledger, lambda line: None)
    assert ledger.entries == ()
    assert not (tmp_path / "there").exists()


def test_a_recorded_process_is_ended_and_a_later_one_with_its_pid_is_not() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        started = start_time(process.pid)
        cleanup.undo(Process(pid=process.pid, started=started + 1, boot_id=cleanup.boot_id()))
        cleanup.undo(Process(pid=process.pid, started=started, boot_id="of another boot"))
        assert process.poll() is None
        cleanup.undo(Process(pid=process.pid, started=started, boot_id=cleanup.boot_id()))
        assert process.wait() == -9
    cleanup.undo(Process(pid=process.pid, started=started, boot_id=cleanup.boot_id()))
    assert start_time(os.getpid()) > 0
