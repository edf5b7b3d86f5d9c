"""PinnedImageSet, OSImageStream and InternalReleaseImage (spec/node.md 1.10 to 1.12, 12.12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.contract.crds.cases import Body, Case, Kind, Step
from tests.contract.crds.formatcases import (
    BUNDLES,
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

_SET = Kind("PinnedImageSet")
_STREAM = Kind("OSImageStream")
_ALPHA_STREAM = Kind("OSImageStream", "v1alpha1")
_RELEASE = Kind("InternalReleaseImage")
_ALPHA_RELEASE = Kind("InternalReleaseImage", "v1alpha1")


def _pinned(*names: str) -> Body:
    return {"pinnedImages": [{"name": name} for name in names]}


def _images(count: int) -> Body:
    return _pinned(*(f"quay.io/os{n}@sha256:{HEX}" for n in range(count)))


SETS = (
    _SET.refused("no spec", None, "Required value", "spec"),
    _SET.refused("no list", {}, "Required value", "spec.pinnedImages"),
    _SET.refused("an empty list", _pinned(), "should have at least 1 items", "spec.pinnedImages"),
    _SET.accepted("500 images", _images(500)),
    _SET.refused("501 images", _images(501), "must have at most 500 items", "spec.pinnedImages"),
    _SET.refused("an image twice", _pinned(IMAGE, IMAGE), "Duplicate value", "spec.pinnedImages[1]"),
    _SET.update("another image", _pinned(IMAGE), _images(2)),
    _SET.refused("an image without a name", {"pinnedImages": [{}]}, "Required value"),
    _SET.steps(
        "stale image, another one is added",
        Step("create", _pinned("registry/a/b@sha256:0")),
        Step("update", _pinned("registry/a/b@sha256:0", IMAGE)),
        stale=True,
    ),
    _SET.steps(
        "stale image, a wrong one is added",
        Step("create", _pinned("registry/a/b@sha256:0")),
        Step("update", _pinned("registry/a/b@sha256:0", f"registry/os@sha256:{HEX}"), NAME_TEXT),
        stale=True,
    ),
    *created(_SET, "image", DIGESTS, lambda image: _pinned(image), "spec.pinnedImages[0].name"),
)


def _stream(name: str = "rhel-9") -> Body:
    return {"defaultStream": name}


def _one(name: str = "rhel-9", image: str = IMAGE, extensions: str = IMAGE) -> Body:
    return {"name": name, "osImage": image, "osExtensionsImage": extensions}


def _streams(*names: str, default: str = "") -> Body:
    return {"availableStreams": [_one(name) for name in names], "defaultStream": default or names[0]}


_UNKNOWN = "spec.defaultStream must reference an existing stream name from status.availableStreams"
_SINGLE = "osimagestream is a singleton, .metadata.name must be 'cluster'"
_AVAILABLE = "status.availableStreams"


def _later(kind: Kind, name: str, status: Body, *steps: Step) -> Case:
    """What happens to a stream whose spec names rhel-9 and that has this status."""
    return kind.steps(name, Step("create", _stream()), Step("status", status), *steps)


STREAMS = (
    _STREAM.accepted("a stream before there is a status", _stream("any-name")),
    _STREAM.refused("no spec", None, "Required value", "spec"),
    _STREAM.refused("no stream", {}, "Required value", "spec.defaultStream"),
    _STREAM.refused("an empty stream", _stream(""), "should be at least 1 chars long", "spec.defaultStream"),
    _STREAM.refused("another name", _stream(), _SINGLE, name="default"),
    *created(_STREAM, "stream", SUBDOMAINS, _stream, "spec.defaultStream"),
    *reported(
        _STREAM,
        "available stream",
        SUBDOMAINS,
        _stream(),
        lambda name: _streams("rhel-9") | {"availableStreams": [_one(), _one(name)]},
        f"{_AVAILABLE}[1].name",
    ),
    *reported(
        _STREAM,
        "image",
        DIGESTS,
        _stream(),
        lambda image: {"availableStreams": [_one(image=image)], "defaultStream": "rhel-9"},
        f"{_AVAILABLE}[0].osImage",
    ),
    *reported(
        _STREAM,
        "extensions image",
        DIGESTS,
        _stream(),
        lambda image: {"availableStreams": [_one(extensions=image)], "defaultStream": "rhel-9"},
        f"{_AVAILABLE}[0].osExtensionsImage",
    ),
    _STREAM.status("a status without streams", _stream(), {"defaultStream": "rhel-9"}, "Required value"),
    _STREAM.status(
        "no streams",
        _stream(),
        {"availableStreams": [], "defaultStream": "a"},
        "should have at least 1 items",
    ),
    _STREAM.status("a status without a default", _stream(), {"availableStreams": [_one()]}, "Required value"),
    _STREAM.status(
        "a default that is not there",
        _stream(),
        _streams("rhel-9", default="rhel-10"),
        "defaultStream must reference a stream name from availableStreams",
        "status",
    ),
    _STREAM.status("a stream twice", _stream(), _streams("rhel-9", "rhel-9"), "Duplicate value"),
    _STREAM.status("a hundred streams", _stream(), _streams(*(f"s{n}" for n in range(100)))),
    _STREAM.status(
        "101 streams", _stream(), _streams(*(f"s{n}" for n in range(101))), "must have at most 100 items"
    ),
    _later(
        _STREAM,
        "the spec names another stream",
        _streams("rhel-9", "rhel-10"),
        Step("update", _stream("rhel-10")),
    ),
    _later(
        _STREAM,
        "the spec names a stream that is not there",
        _streams("rhel-9", "rhel-10"),
        Step("update", _stream("rhel-11"), _UNKNOWN),
    ),
    _later(
        _STREAM,
        "the status loses the spec's stream",
        _streams("rhel-9", "rhel-10"),
        Step("status", _streams("rhel-10")),
    ),
    _later(
        _STREAM,
        "a stale spec stays",
        _streams("rhel-10"),
        Step("update", _stream()),
        Step("status", _streams("rhel-10", "rhel-11")),
    ),
    _later(
        _STREAM,
        "a stale spec moves to a stream that is there",
        _streams("rhel-10"),
        Step("update", _stream("rhel-10")),
    ),
    _later(
        _STREAM,
        "a stale spec moves to one that is not there",
        _streams("rhel-10"),
        Step("update", _stream("rhel-8"), _UNKNOWN),
    ),
    _later(_STREAM, "the status goes", _streams("rhel-10"), Step("status", None)),
    _ALPHA_STREAM.accepted("v1alpha1, no stream", {}),
    _ALPHA_STREAM.refused("v1alpha1, no spec", None, "Required value", "spec"),
    _ALPHA_STREAM.refused("v1alpha1, an empty stream", _stream(""), "should be at least 1 chars long"),
    _ALPHA_STREAM.refused("v1alpha1, another name", {}, _SINGLE, name="default"),
    _ALPHA_STREAM.status(
        "v1alpha1, a default that is not there",
        {},
        _streams("rhel-9", default="rhel-10"),
        "defaultStream must reference a stream name from availableStreams",
    ),
    *created(_ALPHA_STREAM, "v1alpha1, stream", SUBDOMAINS, _stream, "spec.defaultStream"),
    *reported(
        _ALPHA_STREAM,
        "v1alpha1, image",
        DIGESTS,
        {},
        lambda image: {"availableStreams": [_one(image=image)], "defaultStream": "rhel-9"},
        f"{_AVAILABLE}[0].osImage",
    ),
    _ALPHA_STREAM.status("v1alpha1, a stream twice", {}, _streams("a", "a"), "Duplicate value"),
    _ALPHA_STREAM.status("v1alpha1, no streams", {}, {"defaultStream": "a"}, "Required value", _AVAILABLE),
    _later(
        _ALPHA_STREAM,
        "v1alpha1, the spec names a stream that is not there",
        _streams("rhel-9"),
        Step("update", _stream("rhel-11"), _UNKNOWN),
    ),
    _later(_ALPHA_STREAM, "v1alpha1, the spec names none", _streams("rhel-9"), Step("update", {})),
)


def _releases(*names: str, **more: Any) -> Body:
    return {"releases": [{"name": name, **more} for name in names]}


def _bundles(count: int) -> list[str]:
    return [f"ocp-release-bundle-4.20.{n}-x86_64" for n in range(count)]


_BUNDLE = _bundles(1)[0]


def _both(kind: Kind, most_conditions: int) -> Iterator[Case]:
    version = f"{kind.version}, "
    spec = _releases(_BUNDLE)
    yield kind.accepted(f"{version}one bundle", spec)
    yield kind.refused(f"{version}no spec", None, "Required value", "spec")
    yield kind.refused(
        f"{version}another name",
        spec,
        "internalreleaseimage is a singleton, .metadata.name must be 'cluster'",
        name="default",
    )
    yield kind.refused(f"{version}no list", {}, "Required value", "spec.releases")
    yield kind.refused(f"{version}an empty list", _releases(), "should have at least 1 items")
    yield kind.accepted(f"{version}16 bundles", _releases(*_bundles(16)))
    yield kind.refused(f"{version}17 bundles", _releases(*_bundles(17)), "must have at most 16 items")
    yield kind.refused(f"{version}a bundle twice", _releases(_BUNDLE, _BUNDLE), "Duplicate value")
    yield from created(kind, f"{version}bundle", BUNDLES, lambda n: _releases(n), "spec.releases[0].name")
    yield from reported(
        kind,
        f"{version}image",
        DIGESTS,
        spec,
        lambda image: _releases(_BUNDLE, image=image),
        "status.releases[0].image",
    )
    yield kind.status(
        f"{version}a machine's own image",
        spec,
        _releases(_BUNDLE, image=ON_A_MACHINE),
        NAME_TEXT,
        "status.releases[0].image",
    )
    yield kind.refused(f"{version}a bundle without a name", {"releases": [{}]}, "Required value")
    yield kind.status(f"{version}a report without a name", spec, {"releases": [{}]}, "Required value")
    yield kind.status(f"{version}32 reports", spec, _releases(*_bundles(32)))
    yield kind.status(f"{version}33 reports", spec, _releases(*_bundles(33)), "must have at most 32 items")
    yield kind.status(f"{version}an empty list of reports", spec, _releases(), "should have at least 1 items")
    yield kind.status(
        f"{version}too many conditions",
        spec,
        spec | {"conditions": [condition(f"C{n}") for n in range(most_conditions + 1)]},
        f"must have at most {most_conditions} items",
    )
    yield kind.status(
        f"{version}too many conditions of a bundle",
        spec,
        _releases(_BUNDLE, conditions=[condition(f"C{n}") for n in range(6)]),
        "must have at most 5 items",
    )


_DEGRADED: Body = {"conditions": [condition("Degraded")]}
RELEASES = (
    *_both(_RELEASE, 5),
    *_both(_ALPHA_RELEASE, 20),
    _RELEASE.status("no reports", _releases(_BUNDLE), _DEGRADED, "Required value", "status.releases"),
    _ALPHA_RELEASE.status("v1alpha1, no reports", _releases(_BUNDLE), _DEGRADED),
)
