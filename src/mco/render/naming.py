"""The name of a rendered config: the pool's name and a salted MD5 of the spec's text (spec/render.md 1.7)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from mco.api import names
from mco.render.reread import reread
from mco.render.yamltext import dump

_SALT: Final = bytes.fromhex(
    "107ccee48b38afaf4fe586769d9ad36e195d2ffdac6a2507ae0da0b96e115734db830cceda8d7487bcb5c097e93e7ea5"
    "4053b3770fa8d0c5926b3ae385bcee1a211aebca20ad1fea2990944f06ce1716"
)
"""Chosen once by the original; every rendered name depends on it."""

_SUSPICIOUS: Final = ("\\x", "\\u", "\\N")
"""How the text writes what `reread` is about; looking for that is faster than walking the tree."""

Spec = Mapping[str, Any]
"""A MachineConfig's spec as JSON builtins with all its seven keys; `config` is a 3.5.0 Ignition config."""


_NAME = re.compile(rf"{names.RENDERED_PREFIX}(.+)-[0-9a-f]{{32}}")


def pool_in(name: str) -> str:
    """The pool that the name of a rendered config says; nothing for any other name."""
    named = _NAME.fullmatch(name)
    return named[1] if named else ""


def spec_yaml(spec: Spec) -> bytes:
    """The bytes that are hashed after the salt. Raises RenderError with the original's text."""
    text = dump(spec)
    if any(escape in text for escape in _SUSPICIOUS):
        text = dump(reread(spec))
    return text.encode()


def rendered_name(pool_name: str, spec: Spec) -> str:
    """`rendered-<pool>-<32 hexadecimal digits>`; the pool's name is not part of the hash."""
    digest = hashlib.md5(_SALT + spec_yaml(spec), usedforsecurity=False)
    return f"{names.RENDERED_PREFIX}{pool_name}-{digest.hexdigest()}"
