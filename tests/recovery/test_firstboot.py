"""Power is lost at every change of a first boot's second half."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from mco.api import names
from mco.daemon import firstboot, leftovers, observe
from mco.host.fake import FakeMachine
from mco.host.journal import Journal
from mco.plan.node.target import target
from tests.contract.host.powerloss import build
from tests.daemon.builders import config, typed
from tests.daemon.test_firstboot import encapsulate
from tests.recovery.course import is_root, open_machine
from tests.recovery.losing import Loss, recording

pytestmark = pytest.mark.timeout(600)

_SHARE = 3
BODY = config("1", arguments=["demo=1", "demo=2"])


@pytest.mark.skipif(not is_root(), reason="rebuilds owners")
def test_power_lost(points: Counter[str], tmp_path: Path) -> None:
    folder = tmp_path / "machine"
    with_file = FakeMachine.create(folder)
    encapsulate(with_file, BODY)
    with_file.close()
    shutil.copytree(folder / "machine", tmp_path / "state")
    with recording(folder) as (machine, losses):
        assert firstboot.complete(machine.host)
    chosen = losses.different[::_SHARE]
    points[f"losses of power at first boot, of {losses.points}"] += len(chosen)
    wrong = {f"{loss.change} {loss.variant}": _tried(loss, tmp_path) for loss in chosen}
    assert {loss: text for loss, text in wrong.items() if text} == {}


def _tried(loss: Loss, folder: Path) -> str:
    place = folder / "again"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    build(dict(sorted(loss.tree)), place / "root")  # type: ignore[arg-type]
    shutil.copytree(folder / "state", place / "machine")
    machine = open_machine(place)
    try:
        machine.boot()
        boots = machine.boots
        leftovers.sweep(machine.root, Journal(machine.root))
        firstboot.complete(machine.host)
        transaction = observe.disk(machine.host, Journal(machine.root)).transaction
        if machine.root.exists(names.ENCAPSULATED_FILE) or transaction is None:
            return "it is not complete"
        if machine.boots - boots > 1:
            return f"{machine.boots - boots} reboots"
        if machine.host.kernel.managed() != ("demo=1", "demo=2"):
            return f"arguments {machine.host.kernel.configured()}"
        return str(observe.verify(machine.host, target(typed(BODY)), None).findings or "")
    finally:
        machine.close()
