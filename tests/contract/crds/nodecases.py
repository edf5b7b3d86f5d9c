"""MachineConfigNode (spec/node.md 1.7, 12.12)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Kind, Step
from tests.contract.crds.formatcases import (
    BUNDLES,
    DIGEST_TEXT,
    DIGESTS,
    HEX,
    IMAGE,
    NAME_TEXT,
    ON_A_MACHINE,
    SUBDOMAINS,
    condition,
    created,
    reported,
)

_NODE = Kind("MachineConfigNode")
NODE = "node-0"


def _spec(pool: Any = "worker", desired: Any = "rendered-worker-1", node: Any = NODE, **more: Any) -> Body:
    return {"node": {"name": node}, "pool": {"name": pool}, "configVersion": {"desired": desired}, **more}


def _without(field: str) -> Body:
    return {name: value for name, value in _spec().items() if name != field}


def _pinned(**more: Any) -> Body:
    return {"pinnedImageSets": [{"name": "set", **more}]}


def _change(path: str, diff: str = "- a\n+ b") -> Body:
    return {"irreconcilableChanges": [{"fieldPath": path, "diff": diff}]}


def _release(**more: Any) -> Body:
    return {"internalReleaseImage": {"releases": [{"name": "ocp-release-bundle-4.20.0-x86_64", **more}]}}


_IMAGES = {
    "of the machine itself": (ON_A_MACHINE, ""),
    "of the machine itself, no port": (f"localhost/release@sha256:{HEX}", ""),
    "of another host without a dot": (f"localhosts/release@sha256:{HEX}", NAME_TEXT),
    "of the machine itself, with a tag": ("localhost:22625/openshift/release:v1", DIGEST_TEXT),
    "of a registry": (IMAGE, ""),
}
_SET = "status.pinnedImageSets[0]"
_CHANGE = "status.irreconcilableChanges[0].fieldPath"
_RELEASE = "status.internalReleaseImage.releases[0]"
_PATHS = {
    "a field": ("spec.config.storage.disks", ""),
    "an index": ("spec.config.storage.disks[0].device", ""),
    "no prefix": ("config.storage", "The fieldPath must start with `spec.`"),
    "only spec": ("spec", "The fieldPath must start with `spec.`"),
    "a blank": ("spec.a b", "The fieldPath must consist only of alphanumeric characters"),
    "a slash": ("spec.a/b", "The fieldPath must consist only of alphanumeric characters"),
    "an underscore": ("spec.a_b", "The fieldPath must consist only of alphanumeric characters"),
    "the longest": ("spec." + "x" * 65, ""),
    "too long": ("spec." + "x" * 66, "Too long: may not be more than 70 bytes"),
    "empty": ("", "should be at least 1 chars long"),
}


def _rise(field: str, before: Body, after: Body, error: str = "") -> Any:
    return _NODE.steps(
        f"{field}, from {before} to {after}",
        Step("create", _spec()),
        Step("status", before),
        Step("status", after, error),
    )


NODES = (
    _NODE.accepted("node, pool and config", _spec()),
    _NODE.accepted("the placeholder of a new node", _spec(desired="not-yet-set")),
    _NODE.refused("no spec", None, "Required value", "spec"),
    *(
        _NODE.refused(f"no {field}", _without(field), "Required value", f"spec.{field}")
        for field in ("node", "pool", "configVersion")
    ),
    _NODE.refused("a pool without a name", _spec() | {"pool": {}}, "Required value", "spec.pool.name"),
    _NODE.refused(
        "a config version without a wish",
        _spec() | {"configVersion": {}},
        "Required value",
        "spec.configVersion.desired",
    ),
    _NODE.refused("another node's name", _spec(node="node-1"), "spec.node.name should match metadata.name"),
    _NODE.update(
        "the node's name changes", _spec(), _spec(node="node-1"), "spec.node.name should match metadata.name"
    ),
    _NODE.update("pool and config change", _spec(), _spec("infra", "rendered-infra-2")),
    *created(_NODE, "pool", SUBDOMAINS, lambda name: _spec(pool=name), "spec.pool.name"),
    *created(
        _NODE, "desired config", SUBDOMAINS, lambda name: _spec(desired=name), "spec.configVersion.desired"
    ),
    *created(
        _NODE,
        "desired image",
        DIGESTS,
        lambda image: _spec(configImage={"desiredImage": image}),
        "spec.configImage.desiredImage",
    ),
    _NODE.refused(
        "a config image without an image",
        _spec(configImage={}),
        "Required value",
        "spec.configImage.desiredImage",
    ),
    _NODE.update("the config image is removed", _spec(configImage={"desiredImage": IMAGE}), _spec()),
    _NODE.status("an empty status", _spec(), {}),
    _NODE.status("a condition", _spec(), {"conditions": [condition("Updated")]}),
    _NODE.status(
        "a condition twice",
        _spec(),
        {"conditions": [condition("Updated"), condition("Updated")]},
        "Duplicate value",
        "status.conditions[1]",
    ),
    _NODE.status(
        "21 conditions",
        _spec(),
        {"conditions": [condition(f"C{n}") for n in range(21)]},
        "must have at most 20 items",
        "status.conditions",
    ),
    _NODE.status(
        "a condition that is neither true nor false",
        _spec(),
        {"conditions": [condition("Updated", "Maybe")]},
        "Unsupported value",
        "status.conditions[0].status",
    ),
    _NODE.status(
        "a condition without a reason",
        _spec(),
        {"conditions": [condition("Updated") | {"reason": ""}]},
        "should be at least 1 chars long",
        "status.conditions[0].reason",
    ),
    _NODE.status(
        "a reason with blanks",
        _spec(),
        {"conditions": [condition("Updated") | {"reason": "so it is"}]},
        "should match",
        "status.conditions[0].reason",
    ),
    _NODE.status(
        "no generation",
        _spec(),
        {"observedGeneration": 0},
        "should be greater than or equal to 1",
        "status.observedGeneration",
    ),
    _rise("observed generation", {"observedGeneration": 2}, {"observedGeneration": 2}),
    _rise("observed generation", {"observedGeneration": 2}, {"observedGeneration": 3}),
    _rise(
        "observed generation",
        {"observedGeneration": 2},
        {"observedGeneration": 1},
        "observedGeneration must not decrease",
    ),
    _rise("observed generation", {"observedGeneration": 2}, {}),
    _NODE.status("a current config only", _spec(), {"configVersion": {"current": "a"}}, "Required value"),
    *reported(
        _NODE,
        "current config",
        SUBDOMAINS,
        _spec(),
        lambda name: {"configVersion": {"current": name, "desired": "a"}},
        "status.configVersion.current",
    ),
    *reported(
        _NODE,
        "current image",
        DIGESTS,
        _spec(),
        lambda image: {"configImage": {"currentImage": image}},
        "status.configImage.currentImage",
    ),
    _NODE.status("no image at all", _spec(), {"configImage": {}}, "should have at least 1 properties"),
    _NODE.status("a pinned set", _spec(), _pinned(currentGeneration=1, desiredGeneration=2)),
    _NODE.status("a pinned set with its name only", _spec(), _pinned()),
    _NODE.status("a pinned set twice", _spec(), {"pinnedImageSets": [{"name": "a"}] * 2}, "Duplicate value"),
    _NODE.status(
        "a pinned set of a generation of none",
        _spec(),
        _pinned(desiredGeneration=0),
        "should be greater than or equal to 1",
        f"{_SET}.desiredGeneration",
    ),
    _NODE.status(
        "a pinned set ahead of what is wanted",
        _spec(),
        _pinned(currentGeneration=3, desiredGeneration=2),
        "desired generation must be greater than or equal to the current generation",
        _SET,
    ),
    _NODE.status(
        "a failure ahead of what is wanted",
        _spec(),
        _pinned(lastFailedGeneration=3, desiredGeneration=2, lastFailedGenerationError="disk full"),
        "desired generation must be greater than or equal to the last failed generation",
        _SET,
    ),
    _NODE.status(
        "a failure without its error",
        _spec(),
        _pinned(lastFailedGeneration=1, desiredGeneration=2),
        "last failed generation error must be defined on image pull and pin failure",
        _SET,
    ),
    _NODE.status(
        "a failure with its error",
        _spec(),
        _pinned(lastFailedGeneration=1, desiredGeneration=2, lastFailedGenerationError="disk full"),
    ),
    _NODE.status(
        "a long error",
        _spec(),
        _pinned(lastFailedGenerationError="x" * 32769),
        "Too long: may not be more than 32768 bytes",
        f"{_SET}.lastFailedGenerationError",
    ),
    *(
        _rise(
            field,
            _pinned(**{field: 2}, lastFailedGenerationError="e"),
            _pinned(**{field: 1}, lastFailedGenerationError="e"),
            f"{field} must not decrease",
        )
        for field in ("currentGeneration", "desiredGeneration", "lastFailedGeneration")
    ),
    *reported(_NODE, "irreconcilable path", _PATHS, _spec(), _change, _CHANGE),
    _NODE.status(
        "no irreconcilable change", _spec(), {"irreconcilableChanges": []}, "should have at least 1 items"
    ),
    _NODE.status(
        "the same path twice",
        _spec(),
        {"irreconcilableChanges": [*_change("spec.a")["irreconcilableChanges"]] * 2},
        "Duplicate value",
    ),
    _NODE.status(
        "33 irreconcilable changes",
        _spec(),
        {"irreconcilableChanges": [{"fieldPath": f"spec.a{n}", "diff": "d"} for n in range(33)]},
        "must have at most 32 items",
    ),
    _NODE.status("no difference", _spec(), _change("spec.a", ""), "should be at least 1 chars long"),
    _NODE.status("a long difference", _spec(), _change("spec.a", "x" * 4097), "Too long"),
    _rise("irreconcilable changes go", _change("spec.a"), {}),
    *(
        _NODE.status(
            f"release bundle, {name}",
            _spec(),
            {"internalReleaseImage": {"releases": [{"name": value}]}},
            error,
            f"{_RELEASE}.name" if error else "",
        )
        for name, (value, error) in BUNDLES.items()
    ),
    *reported(
        _NODE, "release image", _IMAGES, _spec(), lambda image: _release(image=image), f"{_RELEASE}.image"
    ),
    _NODE.status(
        "no conditions of a release", _spec(), _release(conditions=[]), "should have at least 1 items"
    ),
    _NODE.status(
        "six conditions of a release",
        _spec(),
        _release(conditions=[condition(f"C{n}") for n in range(6)]),
        "must have at most 5 items",
    ),
    _NODE.status("no releases", _spec(), {"internalReleaseImage": {}}, "Required value"),
)
