"""MachineOSConfig (spec/node.md 1.8, 12.12)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Kind, Step
from tests.contract.crds.formatcases import (
    DIGESTS,
    SUBDOMAIN_TEXT,
    SUBDOMAINS,
    TAGS,
    created,
    reported,
)

_CONFIG = Kind("MachineOSConfig")

TAG = "quay.io/openshift/os:v1"


def _config(**more: Any) -> Body:
    spec = {
        "machineConfigPool": {"name": "worker"},
        "imageBuilder": {"imageBuilderType": "Job"},
        "renderedImagePushSecret": {"name": "push"},
        "renderedImagePushSpec": TAG,
        **more,
    }
    return {name: value for name, value in spec.items() if value is not None}


def _file(arch: str | None = None, content: str = "FROM configs AS final") -> Body:
    return {"content": content} if arch is None else {"content": content, "containerfileArch": arch}


def reference_to(**more: Any) -> Body:
    reference = {"group": "batch", "resource": "jobs", "namespace": "ns", "name": "build-1", **more}
    return {name: value for name, value in reference.items() if value is not None}


_POOL_TEXT = "MachineOSConfig name must match the referenced MachineConfigPool name"
_LABEL_TEXT = "the value must consist of only lowercase alphanumeric characters and hyphens"
_SERVICE_TEXT = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"
OBJECTS = {
    "no namespace": (reference_to(namespace=None), "", ""),
    "no name": (reference_to(name=None), "Required value", "name"),
    "no resource": (reference_to(resource=None), "Required value", "resource"),
    "no group": (reference_to(group=None), "Required value", "group"),
    "an empty name": (reference_to(name=""), "should be at least 1 chars long", "name"),
    "an upper-case name": (reference_to(name="Build"), SUBDOMAIN_TEXT, "name"),
    "a group with a blank": (reference_to(group="a b"), SUBDOMAIN_TEXT, "group"),
    "a resource with a digit first": (reference_to(resource="1jobs"), _SERVICE_TEXT, "resource"),
    "a resource with a dot": (reference_to(resource="a.b"), _SERVICE_TEXT, "resource"),
    "a long resource": (
        reference_to(resource="j" * 64),
        "Too long: may not be more than 63 bytes",
        "resource",
    ),
    "a namespace with a dot": (reference_to(namespace="a.b"), _LABEL_TEXT, "namespace"),
    "a namespace with a digit first": (reference_to(namespace="1ns"), "", ""),
}

CONFIGS = (
    _CONFIG.accepted("everything that is required", _config()),
    _CONFIG.refused("no spec", None, "Required value", "spec"),
    *(
        _CONFIG.refused(f"no {field}", _config(**{field: None}), "Required value", f"spec.{field}")
        for field in ("machineConfigPool", "imageBuilder", "renderedImagePushSecret", "renderedImagePushSpec")
    ),
    _CONFIG.accepted("a secret for the base image", _config(baseImagePullSecret={"name": "pull"})),
    _CONFIG.refused("a nameless secret", _config(baseImagePullSecret={}), "Required value"),
    _CONFIG.refused("another name than the pool", _config(), _POOL_TEXT, name="infra"),
    _CONFIG.update("the pool changes", _config(), _config(machineConfigPool={"name": "infra"}), _POOL_TEXT),
    *(
        _CONFIG.steps(
            f"older than the rule, {name}",
            Step("create", _config()),
            Step("update", _config(**more), error),
            name="infra",
            stale=True,
        )
        for name, more, error in (
            ("something else changes", {"baseImagePullSecret": {"name": "pull"}}, ""),
            ("the pool is fixed", {"machineConfigPool": {"name": "infra"}}, ""),
            ("another wrong pool", {"machineConfigPool": {"name": "master"}}, _POOL_TEXT),
        )
    ),
    _CONFIG.update("the push spec changes", _config(), _config(renderedImagePushSpec="quay.io/os:v2")),
    _CONFIG.refused(
        "another builder",
        _config(imageBuilder={"imageBuilderType": "PodImageBuilder"}),
        "Unsupported value",
        "spec.imageBuilder.imageBuilderType",
    ),
    *created(
        _CONFIG,
        "push spec",
        TAGS,
        lambda value: _config(renderedImagePushSpec=value),
        "spec.renderedImagePushSpec",
    ),
    *created(
        _CONFIG,
        "push secret",
        SUBDOMAINS,
        lambda value: _config(renderedImagePushSecret={"name": value}),
        "spec.renderedImagePushSecret.name",
    ),
    *created(
        _CONFIG,
        "pull secret",
        SUBDOMAINS,
        lambda value: _config(baseImagePullSecret={"name": value}),
        "spec.baseImagePullSecret.name",
    ),
    _CONFIG.accepted(
        "a file for every machine",
        _config(containerFile=[_file()]),
        spec__containerFile__0__containerfileArch="NoArch",
    ),
    _CONFIG.accepted(
        "a file for each architecture",
        _config(containerFile=[_file(arch) for arch in ("ARM64", "AMD64", "PPC64LE", "S390X")]),
    ),
    _CONFIG.refused(
        "five files",
        _config(containerFile=[_file(arch) for arch in ("ARM64", "AMD64", "PPC64LE", "S390X", "NoArch")]),
        "must have at most 4 items",
    ),
    _CONFIG.refused(
        "an architecture in lower case",
        _config(containerFile=[_file("amd64")]),
        "Unsupported value",
        "spec.containerFile[0].containerfileArch",
    ),
    _CONFIG.refused(
        "two files without an architecture",
        _config(containerFile=[_file(), _file(content="FROM x")]),
        "Duplicate value",
        "spec.containerFile[1]",
    ),
    _CONFIG.refused("a file without content", _config(containerFile=[{}]), "Required value"),
    _CONFIG.accepted("an empty list of files", _config(containerFile=[])),
    _CONFIG.refused(
        "a long file",
        _config(containerFile=[_file(content="x" * 4097)]),
        "Too long: may not be more than 4096",
    ),
    *reported(
        _CONFIG,
        "current image",
        DIGESTS,
        _config(),
        lambda image: {"currentImagePullSpec": image},
        "status.currentImagePullSpec",
    ),
    *(
        _CONFIG.status(
            f"build, {name}",
            _config(),
            {"machineOSBuild": reference},
            error,
            f"status.machineOSBuild.{field}" if field else "",
        )
        for name, (reference, error, field) in OBJECTS.items()
    ),
    _CONFIG.status(
        "a negative generation",
        _config(),
        {"observedGeneration": -1},
        "should be greater than or equal to 0",
    ),
    _CONFIG.steps(
        "the generation falls",
        Step("create", _config()),
        Step("status", {"observedGeneration": 2}),
        Step("status", {"observedGeneration": 1}, "observedGeneration must not move backwards"),
    ),
)
