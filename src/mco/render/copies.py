"""A rendered config out of somebody's copy of it: only what has the hash that its name says.

Whoever kept the copy is not trusted. What it says is read into our own types and written anew, and of that
the name is computed; nothing else of the copy is used. One thing the hash does not see: it is of a text in
which U+0085 became a blank (`reread`), so that a copy with that character could pass for one with blanks.
Such copies are refused.
"""

from __future__ import annotations

import re
import zlib
from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig, MachineConfigSpec
from mco.base.errors import InvalidInput
from mco.ignition import dataurl, encode
from mco.ignition.types import Config
from mco.render.naming import rendered_name
from mco.render.reread import reread

Spec = dict[str, Any]

_NAME = re.compile(rf"{names.RENDERED_PREFIX}(.+)-[0-9a-f]{{32}}")
_LIMIT = 3 << 20
"""Bytes: a server takes no larger request, and so no larger config."""


def spec_of(name: str, spec: MachineConfigSpec) -> Spec:
    """All seven keys of a stored spec, if that is what `name` stands for. Raises InvalidInput, which quotes
    nothing of it, if it is not."""
    try:
        found = _written_anew(spec)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInput("it has no config") from error
    pool = _NAME.fullmatch(name)
    if pool is None or _name(pool[1], found) != name:
        raise InvalidInput("its content has another name")
    return found


def pack(spec: Spec) -> bytes:
    """For the way from a node; the same spec gives the same bytes."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(encode.dumps({"spec": spec})) + packer.flush()


def unpack(name: str, packed: bytes) -> Spec:
    """Raises InvalidInput as `spec_of` does, and for what is larger than any config."""
    raw = dataurl.gunzip(packed, _LIMIT)
    try:
        copy = msgspec.json.decode(raw, type=MachineConfig)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise InvalidInput("it is no MachineConfig") from error
    return spec_of(name, copy.spec)


def _written_anew(spec: MachineConfigSpec) -> Spec:
    config = msgspec.json.decode(bytes(spec.config), type=Config)
    return {
        "baseOSExtensionsContainerImage": spec.base_os_extensions_container_image,
        "config": msgspec.json.decode(encode.to_json(config)),
        "extensions": list(spec.extensions or ()),
        "fips": spec.fips,
        "kernelArguments": list(spec.kernel_arguments or ()),
        "kernelType": spec.kernel_type,
        "osImageURL": spec.os_image_url,
    }


def _name(pool: str, spec: Spec) -> str:
    if reread(spec) != spec:
        raise InvalidInput("it has characters that its name does not tell from blanks")
    return rendered_name(pool, spec)
