"""MachineOSConfig and MachineOSBuild (spec/node.md 1.8, 1.9, 12.12)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Kind, Step
from tests.contract.crds.formatcases import (
    DIGESTS,
    SUBDOMAIN_TEXT,
    SUBDOMAINS,
    TAGS,
    condition,
    created,
    reported,
)

_CONFIG = Kind("MachineOSConfig")
_BUILD = Kind("MachineOSBuild")

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


def _object(**more: Any) -> Body:
    reference = {"group": "batch", "resource": "jobs", "namespace": "ns", "name": "build-1", **more}
    return {name: value for name, value in reference.items() if value is not None}


_POOL_TEXT = "MachineOSConfig name must match the referenced MachineConfigPool name"
_LABEL_TEXT = "the value must consist of only lowercase alphanumeric characters and hyphens"
_SERVICE_TEXT = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"
_OBJECTS = {
    "no namespace": (_object(namespace=None), "", ""),
    "no name": (_object(name=None), "Required value", "name"),
    "no resource": (_object(resource=None), "Required value", "resource"),
    "no group": (_object(group=None), "Required value", "group"),
    "an empty name": (_object(name=""), "should be at least 1 chars long", "name"),
    "an upper-case name": (_object(name="Build"), SUBDOMAIN_TEXT, "name"),
    "a group with a blank": (_object(group="a b"), SUBDOMAIN_TEXT, "group"),
    "a resource with a digit first": (_object(resource="1jobs"), _SERVICE_TEXT, "resource"),
    "a resource with a dot": (_object(resource="a.b"), _SERVICE_TEXT, "resource"),
    "a long resource": (_object(resource="j" * 64), "Too long: may not be more than 63 bytes", "resource"),
    "a namespace with a dot": (_object(namespace="a.b"), _LABEL_TEXT, "namespace"),
    "a namespace with a digit first": (_object(namespace="1ns"), "", ""),
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
        for name, (reference, error, field) in _OBJECTS.items()
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


def _build(**more: Any) -> Body:
    spec = {
        "machineConfig": {"name": "rendered-worker-1"},
        "machineOSConfig": {"name": "worker"},
        "renderedImagePushSpec": TAG,
        **more,
    }
    return {name: value for name, value in spec.items() if value is not None}


_START, _END = "2026-01-02T03:04:05Z", "2026-01-02T04:04:05Z"
_TERMINAL = {"Failed": "a Failed", "Interrupted": "an Interrupted", "Succeeded": "an Succeeded"}


def _fixed_time(field: str, status: Body) -> Any:
    return _BUILD.steps(
        f"{field} is changed",
        Step("create", _build()),
        Step("status", status),
        Step(
            "status",
            status | {field: "2026-01-02T03:30:00Z"},
            f"{field} is immutable once set",
            f"status.{field}",
        ),
    )


BUILDS = (
    _BUILD.accepted("everything that is required", _build()),
    *(
        _BUILD.refused(f"no {field}", _build(**{field: None}), "Required value", f"spec.{field}")
        for field in ("machineConfig", "machineOSConfig", "renderedImagePushSpec")
    ),
    _BUILD.refused(
        "a short config name",
        _build(machineConfig={"name": "worker-12"}),
        "should be at least 10 chars long",
        "spec.machineConfig.name",
    ),
    _BUILD.refused("an empty name", _build(machineOSConfig={"name": ""}), "should be at least 1 chars long"),
    *created(
        _BUILD,
        "config",
        SUBDOMAINS,
        lambda v: _build(machineOSConfig={"name": v}),
        "spec.machineOSConfig.name",
    ),
    *created(
        _BUILD, "push spec", TAGS, lambda v: _build(renderedImagePushSpec=v), "spec.renderedImagePushSpec"
    ),
    _BUILD.update(
        "the spec changes",
        _build(),
        _build(machineConfig={"name": "rendered-worker-2"}),
        "machineOSBuildSpec is immutable once set",
        "spec",
    ),
    _BUILD.update("the spec stays", _build(), _build()),
    *reported(
        _BUILD,
        "pushed image",
        DIGESTS,
        _build(),
        lambda image: {"digestedImagePushSpec": image},
        "status.digestedImagePushSpec",
    ),
    _BUILD.status("a job", _build(), {"builder": {"imageBuilderType": "Job", "job": _object()}}),
    _BUILD.status(
        "no job",
        _build(),
        {"builder": {"imageBuilderType": "Job"}},
        "job is required when imageBuilderType is Job, and forbidden otherwise",
        "status.builder",
    ),
    _BUILD.status(
        "a job of another builder",
        _build(),
        {"builder": {"imageBuilderType": "Other", "job": _object()}},
        "job is required when imageBuilderType is Job, and forbidden otherwise",
        "status.builder",
    ),
    _BUILD.status("a builder without a type", _build(), {"builder": {}}, "Required value"),
    *(
        _BUILD.status(
            f"related object, {name}",
            _build(),
            {"relatedObjects": [reference]},
            error,
            f"status.relatedObjects[0].{field}" if field else "",
        )
        for name, (reference, error, field) in _OBJECTS.items()
    ),
    _BUILD.status(
        "the same name in two resources",
        _build(),
        {"relatedObjects": [_object(), _object(resource="secrets")]},
    ),
    _BUILD.status(
        "a related object twice", _build(), {"relatedObjects": [_object(), _object()]}, "Duplicate value"
    ),
    _BUILD.status(
        "11 related objects",
        _build(),
        {"relatedObjects": [_object(name=f"n{n}") for n in range(11)]},
        "must have at most 10 items",
    ),
    _BUILD.status("start and end", _build(), {"buildStart": _START, "buildEnd": _END}),
    _BUILD.status("only a start", _build(), {"buildStart": _START}),
    _BUILD.status("only an end", _build(), {"buildEnd": _END}, "buildEnd must be after buildStart", "status"),
    _BUILD.status(
        "an end before the start",
        _build(),
        {"buildStart": _END, "buildEnd": _START},
        "buildEnd must be after buildStart",
        "status",
    ),
    _BUILD.status(
        "an end at the start",
        _build(),
        {"buildStart": _START, "buildEnd": _START},
        "buildEnd must be after buildStart",
        "status",
    ),
    _fixed_time("buildStart", {"buildStart": _START}),
    _fixed_time("buildEnd", {"buildStart": _START, "buildEnd": _END}),
    _BUILD.status(
        "nine conditions",
        _build(),
        {"conditions": [condition(f"C{n}") for n in range(9)]},
        "must have at most 8 items",
    ),
    _BUILD.steps(
        "conditions change while it builds",
        Step("create", _build()),
        Step("status", {"conditions": [condition("Building"), condition("Failed", "False")]}),
        Step("status", {"conditions": [condition("Building", "False"), condition("Failed")]}),
    ),
    *(
        _BUILD.steps(
            f"conditions change after {kind}",
            Step("create", _build()),
            Step("status", {"conditions": [condition(kind)]}),
            Step(
                "status",
                {"conditions": [condition(kind), condition("Building")]},
                f"once {text} condition is set, conditions are immutable",
                "status.conditions",
            ),
        )
        for kind, text in _TERMINAL.items()
    ),
    *(
        _BUILD.steps(
            f"something else changes after {kind}",
            Step("create", _build()),
            Step("status", {"conditions": [condition(kind)]}),
            Step("status", {"conditions": [condition(kind)], "buildStart": _START}),
        )
        for kind in _TERMINAL
    ),
)
