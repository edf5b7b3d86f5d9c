"""Parts of a node that need no machine."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from mco.base.errors import NotFound, Unsupported
from mco.lab.kubernetes import node, pause, programs

_ALL = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")


def test_the_pause_program_waits_until_it_is_told_to_end(tmp_path: Path) -> None:
    path = tmp_path / "pause"
    path.write_bytes(pause.program())
    path.chmod(0o755)
    process = subprocess.Popen([path])
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    process.send_signal(signal.SIGTERM)
    _ends(process)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a process namespace")
def test_even_as_the_first_process_of_a_namespace(tmp_path: Path) -> None:
    path = tmp_path / "pause"
    path.write_bytes(pause.program())
    path.chmod(0o755)
    process = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", path])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (pids := children.read_text().split()) or not _waits(int(pids[0]), path):
        assert process.poll() is None
    os.kill(int(pids[0]), signal.SIGTERM)
    _ends(process)


def _waits(pid: int, program: Path) -> bool:
    """It sleeps, as it does once it waits for the signal: sent before, the signal would be lost."""
    runs = os.readlink(f"/proc/{pid}/exe") == str(program)
    return runs and "\nState:\tS" in Path(f"/proc/{pid}/status").read_text()


def test_an_architecture_without_a_pause_program_is_said() -> None:
    with pytest.raises(Unsupported, match="no pause program for riscv64"):
        pause.program("riscv64")


def test_the_newest_whole_version_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(programs.ASSETS, raising=False)
    with pytest.raises(NotFound) as none:
        programs.find()
    assert "make servers" in none.value.hint
    _install(tmp_path / "mco/servers/1.9.2")
    _install(tmp_path / "mco/servers/1.36.3")
    _install(tmp_path / "mco/servers/1.40.0", _ALL[:-1])
    assert programs.find()["kubelet"] == tmp_path / "mco/servers/1.36.3/kubelet"


def test_a_folder_of_ones_own_has_to_be_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, ("etcd", "kube-apiserver"))
    monkeypatch.setenv(programs.ASSETS, str(tmp_path))
    with pytest.raises(NotFound, match="has no kube-controller-manager, kube-scheduler, kubelet"):
        programs.find()


def test_each_node_has_addresses_of_its_own_for_pods() -> None:
    places = [node.Place(number=number, kubeconfig=b"", ca=b"").files() for number in (0, 7)]
    assert b"10.85.0.0/24" in places[0]["cni.conflist"]
    assert b"10.85.7.0/24" in places[1]["cni.conflist"]


def _install(folder: Path, names: tuple[str, ...] = _ALL) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch(mode=0o755)


def _ends(process: subprocess.Popen[bytes]) -> None:
    try:
        assert process.wait(10) == 0
    finally:
        process.kill()
