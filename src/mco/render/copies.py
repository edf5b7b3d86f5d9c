"""A rendered config out of somebody's copy of it: only what has the hash that its name says.

Whoever kept the copy is not trusted. What it says is read into our own types and written anew, and of that
the name is computed; nothing else of the copy is used. One thing the hash does not see: it is of a text in
which U+0085 became a blank (`reread`), so that a copy with that character could pass for one with blanks.
Such copies are refused.
"""

from __future__ import annotations

import contextlib
import zlib
from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig, MachineConfigSpec
from mco.base.errors import InvalidInput
from mco.ignition import dataurl, encode
from mco.ignition.types import Config
from mco.render.naming import pool_in, rendered_name
from mco.render.reread import reread

Spec = dict[str, Any]

_OTHER = "its content has another name"
_ADDED = (
    (names.KUBELET_CA_FILE,),
    (names.CLOUD_CA_FILE,),
    (names.KUBELET_CA_FILE, names.CLOUD_CA_FILE),
)
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeError)
_LIMIT = 3 << 20
"""Bytes: a server takes no larger request, and so no larger config."""


def is_intact(config: MachineConfig) -> bool:
    """Whether a stored rendered config is what its name says."""
    try:
        _named(config.name, config.spec, _config(config.spec))
    except InvalidInput:
        return False
    return True


def spec_of(name: str, spec: MachineConfigSpec) -> Spec:
    """All seven keys of the spec of a copy, if that is what `name` stands for. Raises InvalidInput, which
    quotes nothing of it, if it is not."""
    found = _named(name, spec, _config(spec))
    if reread(found) != found:
        raise InvalidInput("it has characters that its name does not tell from blanks")
    return found


def spec_kept(name: str, raw: bytes) -> Spec:
    """The same of a MachineConfig that a node keeps, as JSON. What a config server served has files with the
    cluster's authorities that were not rendered; without them it may be what the name stands for."""
    spec = _decoded(raw).spec
    config = _config(spec)
    for added in ((), *_ADDED):
        rendered = msgspec.Raw(encode.to_json(_without(config, added)))
        with contextlib.suppress(InvalidInput):
            return spec_of(name, msgspec.structs.replace(spec, config=rendered))
    raise InvalidInput(_OTHER)


def pack(spec: Spec) -> bytes:
    """For the way from a node; the same spec gives the same bytes."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(encode.dumps({"spec": spec})) + packer.flush()


def unpack(name: str, packed: bytes) -> Spec:
    """Raises InvalidInput as `spec_of` does, and for what is larger than any config."""
    return spec_of(name, _decoded(dataurl.gunzip(packed, _LIMIT)).spec)


def _decoded(raw: bytes) -> MachineConfig:
    try:
        return msgspec.json.decode(raw, type=MachineConfig)
    except _UNREADABLE as error:
        raise InvalidInput("it is no MachineConfig") from error


def _config(spec: MachineConfigSpec) -> Config:
    try:
        return msgspec.json.decode(bytes(spec.config), type=Config)
    except _UNREADABLE as error:
        raise InvalidInput("it has no config") from error


def _named(name: str, spec: MachineConfigSpec, config: Config) -> Spec:
    found: Spec = {
        "baseOSExtensionsContainerImage": spec.base_os_extensions_container_image,
        "config": msgspec.json.decode(encode.to_json(config)),
        "extensions": list(spec.extensions or ()),
        "fips": spec.fips,
        "kernelArguments": list(spec.kernel_arguments or ()),
        "kernelType": spec.kernel_type,
        "osImageURL": spec.os_image_url,
    }
    pool = pool_in(name)
    if not pool or rendered_name(pool, found) != name:
        raise InvalidInput(_OTHER)
    return found


def _without(config: Config, paths: tuple[str, ...]) -> Config:
    files = tuple(file for file in config.storage.files if file.path not in paths)
    return msgspec.structs.replace(config, storage=msgspec.structs.replace(config.storage, files=files))
