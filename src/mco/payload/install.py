"""One installation: which manifests a cluster gets, in which mode, and what that would change."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import msgspec

from mco.base.errors import InvalidInput
from mco.kube.wholes import NoSuchKind, Wholes
from mco.payload import ensure, filters, manifest, situation
from mco.payload.apply import Outcome
from mco.payload.filters import Selection
from mco.payload.graph import Mode
from mco.payload.image import NAME as IMAGE
from mco.payload.manifest import Manifest
from mco.payload.operands import with_image
from mco.runtime.clock import Clock

# Our definitions are those with everything on, whoever applies them.
_FEATURE_SET = "CustomNoUpgrade"


class Installation(msgspec.Struct, frozen=True):
    """`left_out` are manifests that this cluster does not get, each with the reason."""

    manifests: tuple[Manifest, ...]
    left_out: tuple[tuple[Manifest, str], ...]
    mode: Mode


def read_payload(folder: Path | None = None, image: str = IMAGE) -> list[Manifest]:
    """The program's own payload, or that of a folder, with `image` in the place of the payload's. Raises
    InvalidInput with file and line for what is no manifest, and for a folder without any."""
    if folder is None:
        package = resources.files("mco.payload") / "manifests"
        files = {entry.name: entry.read_bytes() for entry in package.iterdir()}
    else:
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    found = [msgspec.structs.replace(m, body=with_image(m.body, image)) for m in manifest.read(files)]
    if not found:
        raise InvalidInput("there are no manifests", path=str(folder))
    for each in found:
        _ = each.deletes  # a wrong value is said before anything is applied
    return found


async def plan(
    manifests: Sequence[Manifest], objects: Wholes, clock: Clock, wanted: Mode | None = None
) -> Installation:
    """Raises Conflict beside somebody else's operator and Unsupported for a server without workloads."""
    found = await situation.look(objects, manifests)
    if (conflict := situation.obstacle(found, clock.now())) is not None:
        raise conflict
    selection = Selection(feature_set=_FEATURE_SET, capabilities=await situation.capabilities(objects))
    reasons = [(each, filters.left_out(each, selection)) for each in manifests]
    return Installation(
        tuple(each for each, reason in reasons if not reason),
        tuple((each, reason) for each, reason in reasons if reason),
        wanted or situation.mode(found, manifests),
    )


async def outcome(each: Manifest, objects: Wholes, mode: Mode) -> Outcome:
    """What applying it would do; nothing is written."""
    try:
        found = await objects.get(each.body)
    except NoSuchKind:
        found = None
    if each.deletes:
        return Outcome.DELETED if found and mode is Mode.UPDATING else Outcome.UNCHANGED
    if found is None:
        return Outcome.CREATED
    if each.create_only or each.kind == "ClusterOperator":
        return Outcome.UNCHANGED
    return Outcome.CONFIGURED if ensure.patch(each.body, found) else Outcome.UNCHANGED
