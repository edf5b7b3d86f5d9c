"""Which objects of the manifests count, and what is written (spec/render.md 3)."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api import names
from mco.api.findings import errors
from mco.api.yaml import Document
from mco.base.errors import InvalidInput, NotFound, RenderError
from mco.render.bootstrap import Bootstrap, Inputs, bootstrap, gather
from mco.render.checks import Versions
from tests.machineconfigs import API, file, files, manifest

VERSIONS = Versions(raw="v1", hash="abc")
CUSTOM = {"matchExpressions": [{"key": names.ROLE_LABEL, "operator": "In", "values": ["worker", "edge"]}]}


def controller(**spec: Any) -> dict[str, Any]:
    return {**API, "kind": "ControllerConfig", "metadata": {"name": names.CONTROLLER_CONFIG}, "spec": spec}


def pool(name: str, **spec: Any) -> dict[str, Any]:
    selector = {
        "machineConfigSelector": {"matchLabels": {names.ROLE_LABEL: name}},
        "nodeSelector": {"matchLabels": {f"{names.NODE_ROLE_PREFIX}{name}": ""}},
    }
    return {**API, "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": selector | spec}


def gathered(*objects: dict[str, Any]) -> Inputs:
    return gather(Document(item, f"{index}.yaml", 1) for index, item in enumerate(objects))


def made(*objects: dict[str, Any]) -> Bootstrap:
    inputs = gathered(*objects)
    assert not errors(inputs.manifests.findings)
    return bootstrap(inputs, "in", VERSIONS)


def pools(result: Bootstrap) -> list[str]:
    return [rendered.pool.name for rendered in result.rendered]


MASTER, WORKER = manifest("00-master", role="master"), manifest("00-worker")


def test_a_built_in_pool_is_there_when_something_is_for_it() -> None:
    assert pools(made(MASTER, WORKER, controller())) == ["master", "worker"]
    assert pools(made(WORKER, controller())) == ["worker"]


def test_a_written_pool_without_configs_is_an_error() -> None:
    with pytest.raises(RenderError) as error:
        made(pool("master"), WORKER, controller())
    assert "configuration for pool master: no MachineConfigs found matching selector" in error.value.message


def test_a_pool_that_somebody_changed_wins_over_the_built_in_one() -> None:
    changed = pool("worker", machineConfigSelector=CUSTOM)
    edge = manifest("50-edge", role="edge")
    for order in ([pool("worker"), changed], [changed, pool("worker")]):
        (rendered,) = made(*order, WORKER, edge, controller()).rendered
        assert rendered.source == ("00-worker", "50-edge")
    assert pools(made(pool("worker"), pool("worker"), WORKER, controller())) == ["worker"]


def test_two_changed_pools_of_one_name_are_an_error_that_names_both() -> None:
    changed = pool("worker", machineConfigSelector=CUSTOM)
    (finding,) = errors(gathered(changed, pool("worker", paused=True), controller()).manifests.findings)
    assert "0.yaml" in finding.message
    assert "1.yaml" in finding.message


def test_the_last_controller_config_counts() -> None:
    result = made(WORKER, controller(baseOSContainerImage="a"), controller(baseOSContainerImage="b"))
    assert result.rendered[0].os_image == "b"
    assert result.files[f"controller-config/{names.CONTROLLER_CONFIG}.yaml"]["spec"] == {
        "baseOSContainerImage": "b"
    }


def test_without_a_controller_config_nothing_is_made() -> None:
    with pytest.raises(NotFound, match='no controllerconfig found in dir: "in"'):
        bootstrap(gathered(WORKER), "in", VERSIONS)


def test_no_file_names_one_that_is_written_later() -> None:
    server = {"apiVersion": "config.openshift.io/v1", "kind": "APIServer", "metadata": {"name": "cluster"}}
    result = made(server, MASTER, WORKER, pool("edge", machineConfigSelector=CUSTOM), controller())
    edge, master, worker = (rendered.name for rendered in result.rendered)
    assert list(result.files) == [
        *(f"machine-configs/{name}.yaml" for name in (edge, master, worker)),
        f"controller-config/{names.CONTROLLER_CONFIG}.yaml",
        "api-server/api-server.yaml",
        *(f"machine-pools/{name}.yaml" for name in ("edge", "master", "worker")),
    ]
    assert result.files["api-server/api-server.yaml"] == server


def test_a_pool_is_written_as_it_was_and_at_its_config() -> None:
    written = pool("worker", maxUnavailable=2, later="than this version")
    result = made(written, WORKER, controller())
    body = result.files["machine-pools/worker.yaml"]
    name = result.rendered[0].name
    configuration = {"name": name, "source": [{**API, "kind": "MachineConfig", "name": "00-worker"}]}
    assert body["spec"] == written["spec"] | {"configuration": configuration}
    assert body["status"] == {"configuration": configuration}


def test_the_rendered_config_says_who_made_it() -> None:
    result = made(WORKER, controller())
    body = result.files[f"machine-configs/{result.rendered[0].name}.yaml"]
    assert body["metadata"]["annotations"] == {
        names.GENERATED_BY_CONTROLLER_VERSION: "abc",
        names.RELEASE_IMAGE_VERSION: "",
    }


def test_what_the_cluster_could_not_store_is_refused() -> None:
    large = manifest("50-large", files(file("/etc/a", "data:," + "x" * names.MAX_RENDERED_BYTES)))
    with pytest.raises(RenderError) as error:
        made(large, controller())
    assert "configuration for pool worker: size validation failed" in error.value.message


def test_a_broken_config_is_named() -> None:
    with pytest.raises(InvalidInput) as error:
        made(manifest("50-bad", files(file("relative"))), controller())
    assert error.value.subject == "MachineConfig/50-bad"


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        (names.API_VERSION, "KubeletConfig"),
        (names.API_VERSION, "ContainerRuntimeConfig"),
        (names.API_VERSION, "MachineOSConfig"),
        ("config.openshift.io/v1", "ImageDigestMirrorSet"),
        ("operator.openshift.io/v1alpha1", "ImageContentSourcePolicy"),
    ],
)
def test_what_no_controller_renders_is_said(version: str, kind: str) -> None:
    ignored = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}
    (finding,) = gathered(ignored, WORKER, controller()).manifests.findings
    assert (finding.level, finding.subject) == ("warning", f"{kind}/x")


def test_objects_of_other_groups_are_none_of_our_business() -> None:
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}
    assert not gathered(other, WORKER, controller()).manifests.findings
