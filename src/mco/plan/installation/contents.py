"""What the keys of a ConfigMap hold, whichever way it was written (spec/operator.md 1.6)."""

from __future__ import annotations

import base64
import binascii

from mco.api.core import ConfigMap
from mco.base.errors import InvalidInput


def contents(found: ConfigMap) -> dict[str, bytes]:
    """Texts before binary values, each in the order of their keys. A text that is base64 is what it encodes:
    that is how others put bytes into a ConfigMap that has texts only."""
    texts, binary = found.data or {}, found.binary_data or {}
    made = {key: decoded(texts[key]) for key in sorted(texts)}
    return made | {key: _binary(found, key, binary[key]) for key in sorted(binary)}


def decoded(text: str) -> bytes:
    joined = text.replace("\n", "").replace("\r", "")
    if len(joined) % 4:
        return text.encode()
    try:
        return base64.b64decode(joined, validate=True)
    except ValueError:
        return text.encode()


def _binary(found: ConfigMap, key: str, value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        subject = f"ConfigMap/{found.metadata.namespace}/{found.name}"
        raise InvalidInput(f"{key} is not base64", subject=subject, path=f"$.binaryData['{key}']") from None
