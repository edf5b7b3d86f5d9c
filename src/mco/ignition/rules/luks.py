"""Rules for encrypted devices."""

from __future__ import annotations

import json

from mco.ignition import types as t
from mco.ignition.report import Findings
from mco.ignition.rules import urls
from mco.ignition.rules.nodes import check_path
from mco.ignition.rules.resources import NO_URL, url_error

_PINS = ("tpm2", "tang", "sss")
_MAX_LABEL = 47


def check_luks(luks: t.Luks, path: str, out: Findings) -> None:
    if "/" in luks.name:
        out.error(f"{path}.name", "device names cannot contain slashes")
    if luks.label and len(luks.label.encode()) > _MAX_LABEL:
        out.error(f"{path}.label", "luks device labels cannot be longer than 47 characters")
    if luks.device:
        check_path(luks.device, f"{path}.device", out)
    else:
        out.error(f"{path}.device", "disk device is required")
    clevis = luks.clevis
    if _is_custom(clevis, out.minor) and (clevis.tang or clevis.tpm2 or clevis.threshold):
        out.error(f"{path}.clevis", "cannot use custom clevis config with tpm2, tang, or threshold")
    if url_error(luks.key_file.source, out.minor):
        out.error(f"{path}.keys", "invalid key-file source")
    if luks.cex.enabled and (clevis.custom.pin or clevis.tang or clevis.tpm2 or clevis.threshold):
        out.error(f"{path}.cex", "cannot use cex with clevis")
    if luks.cex.enabled and luks.key_file.source:
        out.error(f"{path}.cex", "cannot use key file with cex")


def _is_custom(clevis: t.Clevis, minor: int) -> bool:
    """Before spec 3.3 an empty custom config counted as one."""
    return bool(clevis.custom.pin) if minor >= 3 else clevis.custom.pin is not None


def check_custom(custom: t.ClevisCustom, path: str, out: Findings) -> None:
    if not (custom.pin or custom.config or (custom.needs_network and out.minor >= 3)):
        return
    if not custom.pin and out.minor >= 3:
        out.error(f"{path}.pin", "missing required custom clevis pin")
    elif custom.pin not in _PINS:
        out.error(f"{path}.pin", "unsupported clevis pin")
    if not custom.config:
        out.error(f"{path}.config", "missing required custom clevis config")


def check_tang(tang: t.Tang, path: str, out: Findings) -> None:
    url = urls.parse(tang.url)
    if url is None:
        out.error(f"{path}.url", NO_URL)
    elif url.scheme not in ("http", "https"):
        out.error(f"{path}.url", "invalid url scheme")
    if not tang.thumbprint:
        out.error(f"{path}.thumbprint", "thumbprint is required")
    if tang.advertisement and not _is_json(tang.advertisement):
        out.error(f"{path}.advertisement", "advertisement is not valid JSON")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
