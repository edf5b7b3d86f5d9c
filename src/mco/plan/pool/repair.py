"""Brings a rendered config that somebody changed back to what was rendered (spec/render.md 1.6)."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig, MachineConfigSpec

_VERSIONS = (names.GENERATED_BY_CONTROLLER_VERSION, names.RELEASE_IMAGE_VERSION)


def repair(found: MachineConfig, wanted: MachineConfig) -> list[dict[str, Any]] | None:
    """The JSON patch that repairs `found`, tied to the version that was looked at; None when nothing differs.

    Labels, annotations and owners are added, those of others stay. Where a text is wanted empty, or the other
    values are equal, the spec is left alone."""
    changes = _metadata(found, wanted) + _spec(found, wanted)
    if not changes:
        return None
    test = {"op": "test", "path": "/metadata/resourceVersion", "value": found.metadata.resource_version}
    return [test, *changes]


def is_edit(found: MachineConfig, wanted: MachineConfig) -> bool:
    """Whether somebody else made them differ: another version of ours says of itself what it is."""
    said = found.metadata.annotations or {}
    renamed = {key: value for key, value in (wanted.metadata.annotations or {}).items() if key in _VERSIONS}
    metadata = msgspec.structs.replace(found.metadata, annotations=said | renamed)
    lacking = any(key not in said for key in renamed)
    return lacking or repair(msgspec.structs.replace(found, metadata=metadata), wanted) is not None


def _metadata(found: MachineConfig, wanted: MachineConfig) -> list[dict[str, Any]]:
    changes = []
    for part in ("labels", "annotations"):
        have = getattr(found.metadata, part) or {}
        merged = have | (getattr(wanted.metadata, part) or {})
        if merged != have:
            changes.append(_set(f"/metadata/{part}", merged))
    owners = found.metadata.owner_references or ()
    lacking = [ref for ref in wanted.metadata.owner_references or () if ref not in owners]
    if lacking:
        uids = {ref.uid for ref in lacking}
        kept = [ref for ref in owners if ref.uid not in uids]
        changes.append(_set("/metadata/ownerReferences", msgspec.to_builtins([*kept, *lacking])))
    return changes


def _spec(found: MachineConfig, wanted: MachineConfig) -> list[dict[str, Any]]:
    have, want = _texts(found.spec), _texts(wanted.spec)
    changed = {key: text for key, text in want.items() if text and text != have[key]}
    have, want = _values(found.spec), _values(wanted.spec)
    changed |= {key: value for key, value in want.items() if value != have[key]}
    return [_set(f"/spec/{key}", value) for key, value in changed.items()]


def _texts(spec: MachineConfigSpec) -> dict[str, Any]:
    """Overwritten only by something: an empty one is no opinion."""
    return {
        "osImageURL": spec.os_image_url,
        "kernelType": spec.kernel_type,
        "baseOSExtensionsContainerImage": spec.base_os_extensions_container_image,
    }


def _values(spec: MachineConfigSpec) -> dict[str, Any]:
    document = bytes(spec.config)
    return {
        "kernelArguments": list(spec.kernel_arguments or ()),
        "config": msgspec.json.decode(document) if document else None,
        "fips": spec.fips,
        "extensions": list(spec.extensions or ()),
    }


def _set(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}
