"""CertificateSigningRequests: who asks is recorded by the server, who signs writes the status."""

from __future__ import annotations

import base64
import binascii

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.strategies import schemas
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer
from mco.base.errors import InvalidInput
from mco.pki import requests


class RequestStrategy(Strategy):
    """The spec never changes; `approval` changes the conditions, `status` the certificate."""

    schema = schemas.REQUEST
    has_status = True

    def take(self, subresource: str, sent: Obj, new: Obj) -> None:
        status = dict(new.get("status") or {})
        wanted = sent.get("status") or {}
        for field in ("conditions",) if subresource == "approval" else ("conditions", "certificate"):
            if field in wanted:
                status[field] = wanted[field]
        new["status"] = status

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        if old is None:
            spec = new["spec"] = dict(new.get("spec") or {})
            spec["username"] = writer.user
            spec["groups"] = sorted(writer.groups)
            new["status"] = {}
        else:
            new["spec"] = old["spec"]

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        if old is not None:
            return _settled(new, old)
        spec = new["spec"]
        causes = [
            errors.required(f"spec.{field}") for field in ("signerName", "usages") if not spec.get(field)
        ]
        try:
            requests.parse(base64.b64decode(spec.get("request") or "", validate=True))
        except (binascii.Error, ValueError, InvalidInput) as error:
            causes.append(errors.invalid_value("spec.request", "<pem>", str(error)))
        seconds = spec.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            detail = "may not specify a duration less than 600 seconds (10 minutes)"
            causes.append(errors.invalid_value("spec.expirationSeconds", seconds, detail))
        return causes


def _settled(new: Obj, old: Obj) -> list[Cause]:
    """A decision is final, and so is a certificate."""
    causes = []
    before, after = _decided(old), _decided(new)
    if before - after:
        causes.append(
            errors.forbidden_field(
                "status.conditions", f"updates may not remove a condition of type {sorted(before - after)[0]}"
            )
        )
    if {"Approved", "Denied"} <= after:
        causes.append(
            errors.invalid_value(
                "status.conditions", "", "Approved and Denied conditions are mutually exclusive"
            )
        )
    issued = (old.get("status") or {}).get("certificate")
    if issued and (new.get("status") or {}).get("certificate") != issued:
        causes.append(
            errors.forbidden_field(
                "status.certificate", "updates may not set certificate content if already set"
            )
        )
    return causes


def _decided(obj: Obj) -> set[str]:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return {c["type"] for c in conditions if c.get("type") in ("Approved", "Denied", "Failed")}
