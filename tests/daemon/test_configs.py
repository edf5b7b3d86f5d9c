"""The node's own copies of configs, where the server cannot give one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mco.api import names
from mco.base.errors import NotFound, Unavailable
from mco.daemon.configs import FOLDER, Configs
from mco.host.fake import FakeMachine
from mco.host.root import Root
from tests.daemon.builders import config

WANTED = config("1", arguments=["a=1"])
NAME = WANTED["metadata"]["name"]
WHOLE = msgspec.json.encode(WANTED)
DAMAGED = (b'{"metadata":{"name":"%s"},"spec":5}' % NAME.encode(), WHOLE[:-1], b"")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    machine = FakeMachine.create(tmp_path / "m")
    yield machine.root
    machine.close()


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_copy_is_passed_over_for_the_next(root: Root, damaged: bytes) -> None:
    root.write(f"{FOLDER}/{NAME}.json", damaged)
    root.write(names.CURRENT_CONFIG_FILE, WHOLE)
    configs = Configs(root)
    configs.keep(NAME, NotFound("gone"), joining=False)
    assert configs.found[NAME].spec.kernel_arguments == ("a=1",)
    assert configs.unknown == {NAME}


@pytest.mark.parametrize("damaged", DAMAGED)
def test_without_a_whole_copy_the_server_is_waited_for(root: Root, damaged: bytes) -> None:
    root.write(f"{FOLDER}/{NAME}.json", damaged)
    configs = Configs(root)
    with pytest.raises(Unavailable):
        configs.keep(NAME, Unavailable("the API server is away"), joining=False)
    configs.keep(NAME, NotFound("gone"), joining=False)
    assert configs.missing == {NAME: "gone"}
