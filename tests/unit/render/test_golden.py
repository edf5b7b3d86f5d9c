"""A hundred configs of 10 KB: the rendered bytes, the hashed text and the name that the original gives."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from bench.machineconfigs import CONTROLLER_CONFIG, machine_config
from mco.api.machineconfig import MachineConfig
from mco.api.manifests import read
from mco.api.yaml import load_documents
from mco.render import builtin
from mco.render.naming import spec_yaml
from mco.render.pool import render
from mco.render.rendered import Rendered
from mco.render.sources import Sources

NAME = "rendered-worker-4ad281159e136f58fc327949eb6cb93a"
CHANGED_NAME = "rendered-worker-76729af421011fb0dcb810cdc65e66eb"


def typed(number: int, *, changed: bool = False) -> MachineConfig:
    raw = msgspec.json.encode(machine_config(number, changed=changed))
    return msgspec.json.decode(raw, type=MachineConfig)


def rendered(*configs: MachineConfig, sources: Sources | None = None) -> Rendered:
    controller = read(load_documents(CONTROLLER_CONFIG.encode(), "cc.yaml")).controller_config
    return render(builtin.pool("worker"), configs, controller, sources=sources)


@pytest.mark.parametrize(
    ("changed", "name", "config_digest", "text_digest"),
    [
        (
            None,
            NAME,
            "6e370634baf3d34951850e00c2ed0ad4359c3e5467d903234bd83fb520becace",
            "45c9f8322ab03a51dbebf3678d8525fd167b181325325e228e02f514a3d731d2",
        ),
        (
            50,
            CHANGED_NAME,
            "22d67f963f4c699c9a4fc28108622929c755e18c049e2b5fb94bb004e7503bda",
            "424713f303ec8cba87d8e2f85debe5d98863d634061d840d5ce4565e2422aad3",
        ),
    ],
)
def test_bytes_and_name(changed: int | None, name: str, config_digest: str, text_digest: str) -> None:
    result = rendered(*(typed(number, changed=number == changed) for number in range(100)))
    assert len(result.config_json) == 975_966
    assert hashlib.sha256(result.config_json).hexdigest() == config_digest
    text = spec_yaml(result.spec)
    assert len(text) == 989_209
    assert hashlib.sha256(text).hexdigest() == text_digest
    assert result.name == name


def test_one_change_parses_one_config() -> None:
    """The price of a change is its own size: everything else is known by its content."""
    sources = Sources()
    configs = [typed(number) for number in range(100)]
    assert rendered(*configs, sources=sources).name == NAME
    assert sources.parsed == 100
    configs[50] = typed(50, changed=True)
    assert rendered(*configs, sources=sources).name == CHANGED_NAME
    assert sources.parsed == 101
