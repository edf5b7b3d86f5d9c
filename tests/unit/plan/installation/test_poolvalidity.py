"""spec/operator.md 8.1: which configuration of a pool is this version's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.plan.installation.poolvalidity import Expected, NoConfig, problem
from tests.factories import pool

EXPECTED = Expected(controller="v2", release="rv2", os_image="myurl")
BY, RELEASE = names.GENERATED_BY_CONTROLLER_VERSION, names.RELEASE_IMAGE_VERSION


def config(name: str, image: str = "", **annotations: str) -> MachineConfig:
    keys = {"by": BY, "release": RELEASE, "overridden": names.OS_IMAGE_OVERRIDDEN}
    metadata = {"name": name, "annotations": {keys[key]: value for key, value in annotations.items()}}
    return msgspec.convert({"metadata": metadata, "spec": {"osImageURL": image}}, MachineConfig)


def dummy(*sources: str, spec: str = "g", status: str = "g") -> MachineConfigPool:
    made = pool("dummy-pool", spec)
    body: Any = {"configuration": {"name": status, "source": [{"name": name} for name in sources]}}
    return msgspec.structs.replace(made, status=msgspec.convert(body, type(made.status)))


RENDERED = config("g", "myurl", by="v2", release="rv2")


@pytest.mark.parametrize(
    ("found", "configs", "said"),
    [
        (dummy(spec="", status=""), (), "configuration spec for pool dummy-pool is empty: <unknown>"),
        (dummy(status=""), (), "configuration status for pool dummy-pool is empty: <unknown>"),
        (
            dummy(),
            (),
            "list of MachineConfigs that were used to generate configuration for pool dummy-pool is empty: "
            "<unknown>",
        ),
        (dummy("c-0"), (), 'machineconfig.machineconfiguration.openshift.io "g" not found'),
        (
            dummy("c-0"),
            (config("g", "myurl"), config("c-0")),
            "g must be created by controller version v2: <unknown>",
        ),
        (
            dummy("c-0"),
            (config("g", "myurl", by="v1"), config("c-0")),
            "controller version mismatch for g expected v2 has v1: <unknown>",
        ),
        (
            dummy("c-0"),
            (RENDERED, config("c-0", by="v1")),
            "controller version mismatch for c-0 expected v2 has v1: <unknown>",
        ),
        (dummy("c-0", "u-0"), (RENDERED, config("c-0", by="v2"), config("u-0")), ""),
        (
            dummy("c-0"),
            (config("g", "wrongurl", by="v2", release="rv2"), config("c-0", by="v2")),
            "osImageURL mismatch for dummy-pool in g expected: myurl got: wrongurl",
        ),
        (
            dummy("c-0"),
            (config("g", "wrongurl", by="v2", release="rv2", overridden=""), config("c-0", by="v2")),
            "",
        ),
        (
            dummy("c-0"),
            (config("g", "myurl", by="v2", release="rv1"), config("c-0", by="v2")),
            "release image version mismatch for dummy-pool in g expected: rv2 got: rv1",
        ),
    ],
)
def test_a_pool_is_valid(found: MachineConfigPool, configs: tuple[MachineConfig, ...], said: str) -> None:
    there = {each.name: each for each in configs}

    def lookup(name: str) -> MachineConfig:
        if name not in there:
            raise NoConfig(name)
        return there[name]

    assert problem(found, lookup, EXPECTED) == said
