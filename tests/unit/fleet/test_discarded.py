"""Who runs an instance knows whether its data are removed next: then nothing has to end in order."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from mco.fleet import running
from mco.fleet.instance import Instance, folder_of

_RUN = """
import signal
from mco.fleet import running
from mco.fleet.instance import Instance, folder_of

asked = [signal.SIGTERM]
signal.pthread_sigmask(signal.SIG_BLOCK, asked)
with running.hold("a", folder_of("a")):
    instance = Instance("a", folder_of("a"))
    print(instance.discarded, flush=True)
    signal.sigwait(asked)
    print(instance.discarded, flush=True)
"""


@pytest.mark.parametrize("discard", [True, False])
def test_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, discard: bool) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", _RUN], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "False\n"
        assert asyncio.run(running.stop("a", discard=discard))
        assert holder.stdout.read() == f"{discard}\n"


def test_the_next_run_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_it_is_told(tmp_path, monkeypatch, discard=True)
    assert not Instance("a", folder_of("a")).discarded
