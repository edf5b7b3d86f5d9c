"""Which manifests of a payload belong to this installation (spec/operator.md 6.1)."""

from __future__ import annotations

import msgspec

from mco.payload.manifest import Manifest

_RELEASE = "release.openshift.io/"
_INCLUDE = f"include.{_RELEASE}"
_EXCLUDE = f"exclude.{_RELEASE}"
_CAPABILITY = "capability.openshift.io/name"

FEATURE_SETS = frozenset(
    ("Default", "CustomNoUpgrade", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade", "OKD")
)  # fmt: skip
_WITH_MAJOR_VERSION = (
    ("config.openshift.io", "FeatureGate"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
)


class Override(msgspec.Struct, frozen=True):
    """An object that somebody else keeps."""

    group: str
    kind: str
    name: str
    namespace: str = ""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation wants. `exclude` is the id of `exclude.release.openshift.io/<id>`."""

    profile: str = "self-managed-high-availability"
    feature_set: str = "Default"
    feature_gates: frozenset[str] = frozenset()
    capabilities: frozenset[str] = frozenset()
    exclude: str = ""
    major_version: int = 0
    unmanaged: tuple[Override, ...] = ()


def left_out(manifest: Manifest, wanted: Selection) -> str:
    """Why it is not applied; empty when it is."""
    for rule in (_excluded, _profile, _feature_set, _feature_gates, _major_version, _capability, _override):
        if reason := rule(manifest, wanted):
            return reason
    return ""


def _excluded(manifest: Manifest, wanted: Selection) -> str:
    if not manifest.annotations:
        return "no annotations"
    if wanted.exclude and manifest.annotations.get(_EXCLUDE + wanted.exclude) == "true":
        return f"{_EXCLUDE}{wanted.exclude}=true"
    return ""


def _profile(manifest: Manifest, wanted: Selection) -> str:
    key = _INCLUDE + wanted.profile
    if key not in manifest.annotations:
        return f"{key} unset"
    value = manifest.annotations[key]
    return "" if value == "true" else f"unrecognized value {key}={value}"


def _feature_set(manifest: Manifest, wanted: Selection) -> str:
    value = manifest.annotations.get(f"{_RELEASE}feature-set")
    if value is None:
        return ""
    named = {name.strip() or "Default" for name in value.split(",")}
    unknown = sorted(named - FEATURE_SETS)
    if unknown:
        return f"feature-set {', '.join(unknown)} is not known"
    feature_set = wanted.feature_set or "Default"
    return (
        "" if feature_set in named else f"feature-set {feature_set} is not among {', '.join(sorted(named))}"
    )


def _feature_gates(manifest: Manifest, wanted: Selection) -> str:
    value = manifest.annotations.get(f"{_RELEASE}feature-gate")
    if value is None:
        return ""
    if f"{_RELEASE}feature-set" in manifest.annotations:
        return "feature-gate and feature-set exclude each other"
    for name in (part.strip() for part in value.split(",")):
        gate = name.removeprefix("-")
        if (gate in wanted.feature_gates) == name.startswith("-"):
            return f"feature gate {gate} is {'on' if name.startswith('-') else 'off'}"
    return ""


def _major_version(manifest: Manifest, wanted: Selection) -> str:
    value = manifest.annotations.get(f"{_RELEASE}major-version")
    if value is None or not wanted.major_version:
        return ""
    if (manifest.group, manifest.kind) not in _WITH_MAJOR_VERSION:
        return ""
    named = {part.strip() for part in value.split(",")}
    return (
        ""
        if str(wanted.major_version) in named
        else f"major-version {wanted.major_version} is not in {value}"
    )


def _capability(manifest: Manifest, wanted: Selection) -> str:
    value = manifest.annotations.get(_CAPABILITY)
    missing = sorted(set(value.split("+")) - wanted.capabilities) if value else []
    return f"disabled capabilities: {', '.join(missing)}" if missing else ""


def _override(manifest: Manifest, wanted: Selection) -> str:
    found = manifest.identity
    for override in wanted.unmanaged:
        same = (override.group, override.kind, override.name) == (found.group, found.kind, found.name)
        if same and (not found.namespace or override.namespace == found.namespace):
            return "unmanaged by an override"
    return ""
