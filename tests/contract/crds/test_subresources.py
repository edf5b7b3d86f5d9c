"""Which part of an object a request may write: the spec, or the status through its subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.apiserver.endpoint import Api, Body
from tests.contract.crds.cases import NAMES, Case, value_at
from tests.contract.crds.controllercases import controller
from tests.contract.crds.formatcases import IMAGE
from tests.contract.crds.kinds import BY_KIND, GROUP, collection

_NODE = {"node": {"name": "node-0"}, "pool": {"name": "p"}, "configVersion": {"desired": "d"}}
_BUNDLE = "ocp-release-bundle-4.20.0-x86_64"
_STREAM = {"name": "a", "osImage": IMAGE, "osExtensionsImage": IMAGE}
_REFERENCE = {"machineConfig": {"name": "rendered-worker-1"}, "machineOSConfig": {"name": "worker"}}
_PUSH = {"renderedImagePushSpec": "quay.io/os:v1"}
WITH_STATUS: Mapping[str, tuple[Body, Body, str]] = {
    "MachineConfigPool": ({"paused": True}, {"machineCount": 1}, "machineCount"),
    "ControllerConfig": (controller(), {"observedGeneration": 1}, "observedGeneration"),
    "KubeletConfig": ({"logLevel": 1}, {"observedGeneration": 1}, "observedGeneration"),
    "ContainerRuntimeConfig": (
        {"containerRuntimeConfig": {}},
        {"observedGeneration": 1},
        "observedGeneration",
    ),
    "MachineConfigNode": (_NODE, {"observedGeneration": 1}, "observedGeneration"),
    "MachineOSConfig": (
        {
            "machineConfigPool": {"name": "worker"},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": "push"},
            **_PUSH,
        },
        {"observedGeneration": 1},
        "observedGeneration",
    ),
    "MachineOSBuild": (_REFERENCE | _PUSH, {"digestedImagePushSpec": IMAGE}, "digestedImagePushSpec"),
    "OSImageStream": (
        {"defaultStream": "a"},
        {"availableStreams": [_STREAM], "defaultStream": "a"},
        "defaultStream",
    ),
    "InternalReleaseImage": (
        {"releases": [{"name": _BUNDLE}]},
        {"releases": [{"name": _BUNDLE}]},
        "releases.0.name",
    ),
    "MachineConfiguration": ({"logLevel": "Debug"}, {"observedGeneration": 1}, "observedGeneration"),
}
"""A spec and a status of each kind, and the path of something in the status."""

WITHOUT_STATUS: Mapping[str, Body] = {
    "MachineConfig": {"fips": True},
    "PinnedImageSet": {"pinnedImages": [{"name": IMAGE}]},
}

pytestmark = pytest.mark.usefixtures("defined")


def test_every_kind_is_here() -> None:
    assert {*WITH_STATUS, *WITHOUT_STATUS} == set(BY_KIND)


def _object(kind: str, **parts: Any) -> tuple[str, Body]:
    """The path of the object, and the object."""
    name = NAMES.get(kind, "parts")
    path = collection(Case(id=kind, kind=kind, steps=()))
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, **parts}
    return f"{path}/{name}", body


@pytest.mark.parametrize("kind", WITH_STATUS)
async def test_spec_and_status_are_written_apart(api: Api, kind: str) -> None:
    spec, status, place = WITH_STATUS[kind]
    path, body = _object(kind, spec=spec, status=status)
    try:
        made = await api.post(path.rpartition("/")[0], body)
        assert made.status == 201, made.body
        assert value_at(made.body, f"status.{place}") is None
        assert made.body["metadata"]["generation"] == 1

        written = await api.put(f"{path}/status", made.body | {"status": status, "spec": {}})
        assert written.status == 200, written.body
        assert value_at(written.body, f"status.{place}") == value_at(status, place)
        assert written.body["spec"] == made.body["spec"]
        assert written.body["metadata"]["generation"] == 1

        kept = await api.put(path, written.body | {"status": {}})
        assert kept.status == 200, kept.body
        assert kept.body["status"] == written.body["status"]
        assert kept.body["metadata"]["generation"] == 1
    finally:
        await api.delete(path)


@pytest.mark.parametrize("kind", WITHOUT_STATUS)
async def test_a_kind_without_a_status_has_no_subresource(api: Api, kind: str) -> None:
    path, body = _object(kind, spec=WITHOUT_STATUS[kind], status={"observedGeneration": 1})
    try:
        made = await api.post(path.rpartition("/")[0], body)
        assert made.status == 201, made.body
        assert "status" not in made.body
        assert (await api.get(f"{path}/status")).status == 404
    finally:
        await api.delete(path)
