"""Rules of the built-in kinds, except those with a file of their own."""

from __future__ import annotations

import base64
import binascii
import re

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.strategies import names, schemas
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer

_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+\Z")
_DATA_LIMIT = 1024 * 1024


class NodeStrategy(Strategy):
    """A Node is registered with its status, by whoever runs on the machine."""

    schema = schemas.NODE
    has_status = True
    status_at_creation = True

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        causes = []
        seen = set()
        for index, taint in enumerate((new.get("spec") or {}).get("taints") or ()):
            # As the real server has it, though taints stand in the spec.
            field = f"metadata.taints[{index}]"
            effect = taint.get("effect", "")
            for problem in names.qualified_name_errors(taint.get("key", "")):
                causes.append(errors.invalid_value(f"{field}.key", taint.get("key", ""), problem))
            if effect not in _EFFECTS:
                causes.append(errors.not_supported(f"{field}.effect", effect, _EFFECTS))
            if (taint.get("key"), effect) in seen:
                causes.append(errors.duplicate(field, taint))
            seen.add((taint.get("key"), effect))
        return causes


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class PodStrategy(Strategy):
    schema = schemas.POD
    has_status = True
    counts = True
    shows_deleted = True

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        if old is None:
            new["status"] = {"phase": "Pending"}
            spec = new.setdefault("spec", {})
            spec.setdefault("restartPolicy", "Always")
            spec.setdefault("terminationGracePeriodSeconds", 30)

    def grace(self, obj: Obj, asked: int | None) -> int:
        """Where nothing runs, or nothing runs any more, nobody needs time to end it."""
        spec, phase = obj.get("spec") or {}, (obj.get("status") or {}).get("phase")
        if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
            return 0
        seconds = int(spec.get("terminationGracePeriodSeconds", 0)) if asked is None else asked
        return seconds if seconds >= 0 else 1

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        spec = new.get("spec") or {}
        containers = spec.get("containers") or ()
        causes = [] if containers else [errors.required("spec.containers")]
        for index, container in enumerate(containers):
            for field in ("name", "image"):
                if not container.get(field):
                    causes.append(errors.required(f"spec.containers[{index}].{field}"))
        before = (old or {}).get("spec") or {}
        if before.get("nodeName") and before["nodeName"] != spec.get("nodeName"):
            causes.append(errors.invalid_value("spec.nodeName", spec.get("nodeName"), "field is immutable"))
        return causes


class DataStrategy(Strategy):
    """ConfigMaps and Secrets: keys that can be file names, a size limit, and a switch against changes."""

    schema = schemas.CONFIG_MAP
    encoded = ("binaryData",)
    """Fields whose values are base64; they count as what that stands for."""
    large = "[]"
    """What is said to be too long, in the original's words."""

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        causes: list[Cause] = []
        size = 0
        for field in ("data", "binaryData"):
            for key, value in (new.get(field) or {}).items():
                size += _decoded_size(value) if field in self.encoded else len(value.encode())
                if not _DATA_KEY.match(key) or len(key) > 253:
                    causes.append(errors.invalid_value(f"{field}[{key}]", key, _KEY_RULE))
        if size > _DATA_LIMIT:
            causes.append(errors.too_long(self.large, _DATA_LIMIT))
        if old is not None and old.get("immutable"):
            causes += [
                errors.forbidden_field(field, "field is immutable when `immutable` is set")
                for field in ("data", "binaryData", "immutable")
                if new.get(field) != old.get(field)
            ]
        return causes


def _decoded_size(base64_text: str) -> int:
    return len(base64_text) * 3 // 4 - base64_text.count("=")


_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


class SecretStrategy(DataStrategy):
    schema = schemas.SECRET
    encoded = ("data",)
    large = "data"

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        new.setdefault("type", "Opaque")
        plain = new.pop("stringData", None)
        if isinstance(plain, dict):
            data = new.setdefault("data", {}) or {}
            encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in plain.items()}
            new["data"] = {**data, **encoded}

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        causes = super().validate(new, old)
        for key, value in (new.get("data") or {}).items():
            try:
                base64.b64decode(str(value), validate=True)
            except (binascii.Error, ValueError):
                # Never the value itself: it is a secret, and this text ends in logs.
                message = 'Invalid value: "<redacted>": must be base64'
                causes.append(Cause("FieldValueInvalid", message, f"data[{key}]"))
        if old is not None and new.get("type") != old.get("type"):
            causes.append(errors.invalid_value("type", new.get("type"), "field is immutable"))
        return causes


class EventStrategy(Strategy):
    schema = schemas.EVENT

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        about = (new.get("involvedObject") or {}).get("namespace") or "default"
        if about != new["metadata"].get("namespace"):
            detail = "does not match event.namespace"
            return [errors.invalid_value("involvedObject.namespace", about, detail)]
        return []


class LeaseStrategy(Strategy):
    schema = schemas.LEASE
    unconditional = False

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        spec = new.get("spec") or {}
        seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        causes = []
        if seconds is not None and seconds <= 0:
            detail = "must be greater than 0"
            causes.append(errors.invalid_value("spec.leaseDurationSeconds", seconds, detail))
        if transitions is not None and transitions < 0:
            detail = "must be greater than or equal to 0"
            causes.append(errors.invalid_value("spec.leaseTransitions", transitions, detail))
        return causes


class ServiceAccountStrategy(Strategy):
    schema = schemas.SERVICE_ACCOUNT
    shows_deleted = True
