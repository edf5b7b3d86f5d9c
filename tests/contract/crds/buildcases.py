"""MachineOSBuild (spec/node.md 1.9, 12.12)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Kind, Step
from tests.contract.crds.formatcases import DIGESTS, SUBDOMAINS, TAGS, condition, created, reported
from tests.contract.crds.osconfigcases import OBJECTS, TAG, reference_to

_BUILD = Kind("MachineOSBuild")


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
    _BUILD.status("a job", _build(), {"builder": {"imageBuilderType": "Job", "job": reference_to()}}),
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
        {"builder": {"imageBuilderType": "Other", "job": reference_to()}},
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
        for name, (reference, error, field) in OBJECTS.items()
    ),
    _BUILD.status(
        "the same name in two resources",
        _build(),
        {"relatedObjects": [reference_to(), reference_to(resource="secrets")]},
    ),
    _BUILD.status(
        "a related object twice",
        _build(),
        {"relatedObjects": [reference_to(), reference_to()]},
        "Duplicate value",
    ),
    _BUILD.status(
        "11 related objects",
        _build(),
        {"relatedObjects": [reference_to(name=f"n{n}") for n in range(11)]},
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
