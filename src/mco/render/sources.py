"""Ignition configs by content: each text is parsed and validated once, however often its pool is rendered."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import msgspec

from mco.api.machineconfig import MachineConfigSpec
from mco.ignition.parse import Parsed, parse
from mco.ignition.report import IgnitionError
from mco.ignition.types import VERSION
from mco.ignition.validate import validate

_DEFAULT_LIMIT = 64 * 1024 * 1024


class Sources:
    """Parsed configs, the ones used last, up to `limit` bytes of text. Whoever renders again and again owns
    one and hands it in; what cannot be parsed is not kept."""

    def __init__(self, limit: int = _DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._held = 0
        self.parsed = 0
        """How many texts had to be parsed so far."""
        self._parsed: OrderedDict[bytes, tuple[int, Parsed]] = OrderedDict()

    def parse(self, raw: msgspec.Raw | bytes) -> Parsed:
        """As `ignition.parse.parse`, and raises its errors."""
        key = hashlib.sha256(raw).digest()
        known = self._parsed.get(key)
        if known is not None:
            self._parsed.move_to_end(key)
            return known[1]
        text = bytes(raw)
        parsed = _valid(text)
        self.parsed += 1
        self._parsed[key] = (len(text), parsed)
        self._held += len(text)
        while self._held > self._limit and len(self._parsed) > 1:
            _, (size, _) = self._parsed.popitem(last=False)
            self._held -= size
        return parsed


def _valid(text: bytes) -> Parsed:
    """An older spec 3 document has to be valid as 3.5 as well, with stricter rules (spec/render.md 7.1)."""
    parsed = parse(text)
    if parsed.version.startswith("3.") and parsed.version != VERSION:
        report = validate(parsed.config)
        if report.fatal:
            raise IgnitionError(f"invalid ignition V3 config found: {report}", report=report)
    return parsed


def raw_config(spec: MachineConfigSpec) -> msgspec.Raw | None:
    """The Ignition text of a spec; None when it has none (absent, or null as JSON)."""
    raw = spec.config
    return None if not raw or (len(raw) == 4 and bytes(raw) == b"null") else raw
