"""Bad configs, as a person applies them to a running fleet: `mco status` says object, path and remedy, the
machine keeps what it had, and is well again once the config is gone."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mco.api.names import STATE_FOLDER
from mco.render.lint import MAX_FILE_BYTES
from tests.fleet.program import Running
from tests.machineconfigs import API, core, file, files, manifest, units

Start = Callable[..., Running]
PATIENCE = 30.0

pytestmark = pytest.mark.timeout(400)

FAILING = "[Service]\nExecStart=/bin/false\n[Install]\nWantedBy=multi-user.target\n"
BOMB = "data:;base64," + base64.b64encode(gzip.compress(bytes(MAX_FILE_BYTES + 1))).decode()

UNRENDERED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "version": (manifest("bad", {"version": "9.9.9"}), ("Supported spec versions: 2.2,3.0",)),
    "relative": (manifest("bad", files(file("etc/x", "data:,"))), ("files.0.path: path not absolute",)),
    "dots": (manifest("bad", files(file("/etc/../x", "data:,"))), ("files.0.path: path is not fully",)),
    "unit twice": (manifest("bad", units({"name": "x.service"}, {"name": "x.service"})), ("units.1",)),
    "mode": (manifest("bad", files(file("/x", "data:,", mode=0o1755))), ("cannot exceed 0777",)),
}
"""What the controller refuses: the object and parts of what is said about it."""

REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "/proc": (manifest("bad", files(file("/proc/x", "data:,"))), ("files.0.path: /proc/x belongs to",)),
    "/sys": (manifest("bad", files(file("/sys/x", "data:,"))), ("files.0.path: /sys/x belongs to",)),
    "/dev": (manifest("bad", files(file("/dev/x", "data:,"))), ("files.0.path: /dev/x belongs to",)),
    "state": (manifest("bad", files(file(f"{STATE_FOLDER}/x", "data:,"))), (f"{STATE_FOLDER}/x belongs to",)),
    "unit name": (manifest("bad", units({"name": "../x.service"})), ("units.0.name: unit name",)),
    "drop-in": (
        manifest("bad", units({"name": "x.service", "dropins": [{"name": "../y.conf"}]})),
        ("dropins.0.name: drop-in name",),
    ),
    "argument": (manifest("bad", kernelArguments=["a\nb"]), ("$.spec.kernelArguments.0: ", "a line break")),
    "NUL": (manifest("bad", kernelArguments=["a\0b"]), ("$.spec.kernelArguments.0: ", "a NUL")),
    "key": (manifest("bad", core(sshAuthorizedKeys=["a\nb"])), ("sshAuthorizedKeys.0: SSH key contains",)),
    "hash": (manifest("bad", core(passwordHash="a\nb")), ("passwordHash: password hash contains",)),
    "gzip bomb": (
        manifest("bad", files(file("/x", BOMB, compression="gzip"))),
        ("files.0.contents: the decompressed data is longer",),
    ),
    "below a file": (
        manifest("bad", files(file("/etc/hostname/x", "data:,"))),
        ("write /etc/hostname/x: not a directory",),
    ),
}
"""What the machine refuses."""


class Cluster:
    def __init__(self, mco: Start, home: Path) -> None:
        self._mco = mco
        self._folder = home
        self._kubeconfig = home / "state/mco/instances/default/api/kubeconfig"

    def kubectl(self, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["kubectl", f"--kubeconfig={self._kubeconfig}", *argv],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def create(self, body: dict[str, Any]) -> None:
        done = self.kubectl("create", "-f", "-", stdin=json.dumps(body))
        assert done.returncode == 0, done.stderr

    def status(self) -> tuple[int, str]:
        asked = self._mco("status")
        return asked.ended(), asked.output

    def until(self, *parts: str, code: int) -> str:
        """Waits for `mco status` to say all of `parts`, with this exit code."""
        end = time.monotonic() + PATIENCE
        while True:
            found, said = self.status()
            if found == code and all(part in said for part in parts):
                return said
            assert time.monotonic() < end, (parts, said)

    def config(self) -> str:
        return self.kubectl("get", "node", "worker-1", "-o", r"jsonpath={.metadata.annotations}").stdout


def test_bad_configs_are_named_and_their_removal_heals(mco: Start, home: Path) -> None:
    up = mco("up", "--machines", "1", "--directories")
    up.until("Running until Ctrl-C")
    cluster = Cluster(mco, home)
    _, well = cluster.status()
    target = next(line.split()[1] for line in well.splitlines() if line.startswith("worker "))
    etc = home / "state/mco/instances/default/machines/worker-1/root/etc"
    before = {path.name for path in etc.iterdir()}

    for body, parts in UNRENDERED.values():
        cluster.create(body)
        said = cluster.until("Degraded", "MachineConfig", "hint: ", *parts, code=1)
        assert json.loads(cluster.config())["machineconfiguration.openshift.io/desiredConfig"] == target, said
        assert cluster.kubectl("delete", "machineconfig", "bad").returncode == 0
        cluster.until(target, "Updated", "Done", code=0)

    for body, parts in REFUSED.values():
        cluster.create(body)
        said = cluster.until("Degraded", "rendered-worker-", *parts, code=1)
        assert "mco validate lists everything" in said or "(a part of the path is a file" in said
        assert {path.name for path in etc.iterdir()} == before
        assert cluster.kubectl("delete", "machineconfig", "bad").returncode == 0
        cluster.until(target, "Updated", "Done", code=0)

    halves = {name: manifest(name, files(file(f"/{name}", "data:," + "a" * 900_000))) for name in ("a", "b")}
    for body in halves.values():
        cluster.create(body)
    cluster.until("Degraded", "MachineConfigPool/worker", "hint: ", "size validation failed", code=1)
    assert cluster.kubectl("delete", "machineconfig", *halves).returncode == 0
    cluster.until("Updated", "Done", code=0)

    huge = json.dumps(manifest("bad", files(file("/x", "data:," + "a" * 5_000_000))))
    refused = cluster.kubectl("create", "-f", "-", stdin=huge)
    assert refused.returncode == 1
    assert "Request entity too large: limit is" in refused.stderr

    empty = {**API, "kind": "MachineConfigPool", "metadata": {"name": "empty"}}
    empty["spec"] = {"machineConfigSelector": {"matchLabels": {"no": "body"}}}
    cluster.create(empty)
    cluster.until("no MachineConfigs found matching selector no=body", "hint: label a MachineConfig", code=1)
    assert cluster.kubectl("delete", "machineconfigpool", "empty").returncode == 0

    cluster.create(manifest("bad", units({"name": "no.service", "enabled": True, "contents": FAILING})))
    cluster.until("Units of the config that failed: no.service", "Updated", code=0)
    assert cluster.kubectl("delete", "machineconfig", "bad").returncode == 0
    said = cluster.until(target, "Updated", "Done", code=0)
    assert "no.service" not in said
    assert up.stop() == 130
