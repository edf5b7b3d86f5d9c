"""What a directory-rooted host is besides a host: its life between boots, and its life without root."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mco.base.errors import Conflict
from mco.host.commands import NAMESPACES_OF_PID_1
from mco.host.fake import FakeMachine
from mco.host.machine import open_host
from mco.host.systemd import UNIT_FOLDER
from tests.contract.host.conftest import needs_root

RUNS = b"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n"


def test_a_reboot_waits_for_whoever_runs_the_machine(tmp_path: Path) -> None:
    told: list[str] = []
    machine = FakeMachine.create(tmp_path / "m", on_reboot=lambda: told.append("now"))
    before = machine.host.boot_id()
    machine.host.kernel.set(["x"])
    machine.host.reboot("Node will reboot into config rendered-worker-1")
    assert (told, machine.host.boot_id(), machine.boots) == (["now"], before, 1)
    assert machine.pending_reboot == "machine-config-daemon: Node will reboot into config rendered-worker-1"
    again = FakeMachine(tmp_path / "m")
    again.boot()
    assert not FakeMachine(tmp_path / "m").pending_reboot
    assert machine.boots == 2
    assert machine.host.boot_id() != before
    assert "x" in machine.host.kernel.running()


def test_state_is_kept_between_processes_and_lost_with_a_crash_where_a_machine_loses_it(
    tmp_path: Path,
) -> None:
    machine = FakeMachine.create(tmp_path / "m", hostname="edge-1")
    machine.root.write(f"{UNIT_FOLDER}/u.service", RUNS, owner=(0, 0))
    machine.host.systemd.start("u.service")
    again = FakeMachine(tmp_path / "m")
    assert again.host.systemd.active_state("u.service") == "active"
    assert again.host.hostname() == "edge-1"
    again.boot()
    assert machine.host.systemd.active_state("u.service") == "inactive"


def test_a_folder_is_one_machine(tmp_path: Path) -> None:
    FakeMachine.create(tmp_path / "m")
    with pytest.raises(Conflict, match="is a machine already"):
        FakeMachine.create(tmp_path / "m")


def test_opening_its_root_finds_the_fake_and_a_reboot_ends_the_process(tmp_path: Path) -> None:
    machine = FakeMachine.create(tmp_path / "m")
    code = "import sys; from mco.host.machine import open_host; open_host(sys.argv[1]).reboot('why')"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m" / "root")], check=False)
    assert done.returncode == -signal.SIGTERM
    assert machine.pending_reboot == "machine-config-daemon: why"


def test_any_other_root_is_a_machine_seen_from_a_container(tmp_path: Path) -> None:
    host = open_host(tmp_path)
    assert host.commands.prefix == NAMESPACES_OF_PID_1
    assert open_host("/").commands.prefix == ()


_LIFE = """
import os, sys
from pathlib import Path
from mco.host.fake import FakeMachine
from mco.host.journal import Journal
from mco.host.lock import MachineLock
from mco.host.preimage import capture, restore

os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
os.environ["PATH"] = sys.argv[2]
machine = FakeMachine.create(Path(sys.argv[1]) / "m")
host, root = machine.host, machine.root
with MachineLock(root):
    root.write("/etc/motd", b"1", mode=0o200, owner=(12, 34))
    journal = Journal(root)
    journal.begin("a", "b", host.boot_id(), [1])
    journal.before(0, [capture(root, "/etc/motd")])
    root.write("/etc/motd", b"2", owner=(0, 0))
    root.mkdir("/srv/shut", 0o000, (5, 5))
    root.write("/srv/shut/f", b"")
    for image in journal.images(0):
        restore(root, image)
    journal.undoing("x"); journal.undone(0); journal.failed()
    host.ssh.write("core", ["k"])
    host.accounts.set_password_hash("core", "$6$x")
    host.kernel.set(["x"])
    root.write("/etc/systemd/system/u.service",
               b"[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/true\\n"
               b"[Install]\\nWantedBy=multi-user.target\\n")
    host.systemd.enable(["u.service"])
    host.reboot("x")
    motd, shut = root.stat("/etc/motd"), root.stat("/srv/shut")
    key = root.stat("/home/core/.ssh/authorized_keys.d/ignition")
    print(root.read("/etc/motd"), oct(motd.permissions), motd.owner, oct(shut.permissions), shut.owner)
    print(key.owner, host.accounts.password_hash("core"), host.kernel.running()[-1])
    print(host.systemd.is_enabled("u.service"), host.systemd.active_state("u.service"))
    print(sorted({status.owner for _, status in root.walk("/etc")}))
"""


@needs_root
@pytest.mark.parametrize("tool", ["real", "none"])
def test_an_ordinary_user_has_a_machine_too(tool: str) -> None:
    """All of it as nobody, with and without a systemctl to help."""
    path = "/usr/bin:/bin" if tool == "real" else "/nowhere"
    # Not below pytest's folder, which is closed to others.
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        command = [sys.executable, "-c", _LIFE, folder, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "b'1' 0o200 (12, 34) 0o0 (5, 5)",
        "(1000, 1000) $6$x x",
        "enabled active",
        "[(0, 0), (12, 34)]",
    ]
