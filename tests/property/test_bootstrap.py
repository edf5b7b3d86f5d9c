"""The first render has the names and bytes that the cluster gives from the same objects: a machine that was
installed with it is where the cluster wants it (spec/operator.md 0.1)."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mco.api.controllerconfig import ControllerConfig
from mco.api.findings import errors
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.yaml import load_documents
from mco.base.errors import MCOError
from mco.render.bootstrap import bootstrap, gather
from mco.render.checks import Versions
from mco.render.pool import render
from tests.property.installations import Installation, installations, manifests

VERSIONS = Versions(raw="v1", hash="abc")


def from_manifests(text: bytes) -> dict[str, dict[str, Any]] | str:
    """Each pool's rendered config as its name and bytes, or why there is none."""
    inputs = gather(load_documents(text, "all.yaml"))
    assert not errors(inputs.manifests.findings)
    try:
        result = bootstrap(inputs, "in", VERSIONS)
    except MCOError as error:
        return error.message
    return {rendered.pool.name: rendered.machine_config for rendered in result.rendered}


def from_cluster(installation: Installation) -> dict[str, dict[str, Any]] | set[str]:
    """The same as the render controller gives it from its caches, or why some pools have none."""

    def cached(body: Any, type_: Any) -> Any:
        return msgspec.json.decode(msgspec.json.encode(body), type=type_)

    controller = cached(installation.controller, ControllerConfig)
    configs = [cached(body, MachineConfig) for body in installation.machine_configs]
    found, failed = {}, set()
    for body in installation.pools:
        pool = cached(body, MachineConfigPool)
        try:
            found[pool.name] = render(pool, configs, controller, VERSIONS).machine_config
        except MCOError as error:
            failed.add(f"Failed to render configuration for pool {pool.name}: {error.message}")
    return failed or found


@given(st.data(), installations())
def test_manifests_and_cluster_give_the_same(data: st.DataObject, installation: Installation) -> None:
    ours = from_manifests(data.draw(manifests(installation)))
    theirs = from_cluster(installation)
    if isinstance(theirs, set):
        assert ours in theirs
    else:
        assert ours == theirs
