"""The components that the operator runs, as manifests filled in for one cluster."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mco.api.tlsprofile import Profile
from mco.base.errors import InvalidInput
from mco.payload import manifest
from mco.payload.image import NAME as IMAGE
from mco.payload.manifest import Manifest
from mco.payload.source.metadata import CONTROLLER, SERVER
from mco.plan.installation.controlleroptions import ControllerOptions
from mco.runtime import version


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """`image` runs every component; `server` is the API server's URL as machines reach it."""

    image: str
    server: str


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster may say anew at any time: `verbosity` as klog counts, `tls` for what machines ask,
    `controller` for the controllers."""

    verbosity: int
    tls: Profile
    controller: ControllerOptions = ControllerOptions()


class _Images(msgspec.Struct, rename="camel"):
    machine_config_operator: str
    release_version: str


def read_images(path: Path) -> dict[str, str]:
    """The images by their names, from the file that the payload's ConfigMap is mounted as. Raises
    InvalidInput when it is not of this version: then the operator was replaced and its file was not, or the
    other way around, and the next look will find both."""
    try:
        raw = path.read_bytes()
        found = msgspec.json.decode(raw, type=_Images)
        images = msgspec.json.decode(raw, type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"could not parse images.json bytes: {error}", path=str(path)) from error
    if found.release_version != version.RAW:
        found_version = f'refusing to read images.json version "{found.release_version}"'
        text = f'{found_version}, operator version "{version.RAW}"'
        raise InvalidInput(text, path=str(path), hint="the payload is being applied; it is read again")
    return images


def with_image(body: Any, image: str) -> Any:
    """A manifest with another image in the place of the payload's own."""
    if isinstance(body, str):
        return body.replace(IMAGE, image)
    if isinstance(body, Mapping):
        return {key: with_image(value, image) for key, value in body.items()}
    return [with_image(item, image) for item in body] if isinstance(body, list) else body


def load(setting: Setting) -> list[Manifest]:
    """In the order in which the operator needs them."""
    folder = resources.files("mco.payload") / "operands"
    files = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    return [_filled(found, setting) for found in manifest.read(files)]


def adjusted(found: Manifest, live: Live) -> Manifest:
    """A component with what holds now."""
    body = deepcopy(found.body)
    (container,) = body["spec"]["template"]["spec"]["containers"]
    if found.identity.name == SERVER:
        container["args"] += [
            f"--tls-cipher-suites={','.join(live.tls.suites)}",
            f"--tls-min-version={live.tls.minimum}",
        ]
    elif found.identity.name == CONTROLLER:
        container["args"] += live.controller.arguments()
    container["args"].append(f"--v={live.verbosity}")
    return msgspec.structs.replace(found, body=body)


def _filled(found: Manifest, setting: Setting) -> Manifest:
    body = with_image(found.body, setting.image)
    pod = body["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    if pod.get("hostNetwork"):
        container["env"] += _address(setting.server)
    if found.identity.name == SERVER:
        container["args"].append(f"--apiserver-url={setting.server}")
    return msgspec.structs.replace(found, body=body)


def _address(server: str) -> list[dict[str, str]]:
    """What a Pod takes for the API server's address, in place of the Service's."""
    parts = urlsplit(server)
    return [
        {"name": "KUBERNETES_SERVICE_HOST", "value": parts.hostname or ""},
        {"name": "KUBERNETES_SERVICE_PORT", "value": str(parts.port or 443)},
    ]
