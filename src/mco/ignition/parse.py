"""Reads Ignition configs of every accepted version into the structs of 3.5 (spec/render.md 8.1, 8.2).

Nearly all documents are well formed: a strict decode straight into the structs, then the rules. Only when
that refuses a document, or a rule has something to say, is the text read again with positions, as the
original reads it, to say exactly what is odd and where.
"""

from __future__ import annotations

import binascii
import re
from typing import NamedTuple

import msgspec

from mco.ignition import dataurl
from mco.ignition import types as t
from mco.ignition.document import Document, JSONSyntaxError, position
from mco.ignition.loose import TypeMismatch, normalise, version_of
from mco.ignition.report import OK, ROOT, Entry, IgnitionError, Report
from mco.ignition.schema import keys_since
from mco.ignition.translate import up
from mco.ignition.v2 import parse as v2
from mco.ignition.v2.errors import ConversionError
from mco.ignition.validate import validate
from mco.ignition.versions import SUPPORTED_TEXT, Version, is_spec2, is_spec3, parse_version

INVALID = "config is not valid"
EMPTY = "not a config (empty)"
OUTER = "failed to parse Ignition config: "

_DECODER = msgspec.json.Decoder(t.Config)
_MINORS = {f"3.{minor}.0": minor for minor in range(6)}
_GZIP_MAGIC = b"\x1f\x8b"
# Integers that Go's int cannot hold; the strict decoder takes them.
_HUGE = re.compile(rb":\s*-?[0-9]{19}")


class Parsed(NamedTuple):
    """`config` is always of version 3.5.0; `version` is the document's own; `report` holds the warnings."""

    config: t.Config
    version: str
    report: Report


def parse(raw: bytes) -> Parsed:
    """Parses and validates a document; raises IgnitionError with the original's text and the report."""
    if not raw:
        raise spec3_error(EMPTY, OK)
    return _strict(raw) or _exact(raw)


def parse_and_convert(raw: bytes) -> t.Config:
    """The config alone; errors of the parser carry the prefix of the original's outer function."""
    try:
        return parse(raw).config
    except ConversionError:
        raise
    except IgnitionError as error:
        raise IgnitionError(
            OUTER + error.message, report=error.report, path=error.path, hint=error.hint
        ) from error


def parse_compressed(raw: bytes) -> t.Config:
    """Like `parse_and_convert`, for documents that may be gzipped, or gzipped and then base64 encoded."""
    try:
        unpacked = binascii.a2b_base64(raw.strip(), strict_mode=True)
    except ValueError:
        unpacked = raw
    for candidate in (unpacked, raw):
        if candidate.startswith(_GZIP_MAGIC):
            return parse_and_convert(dataurl.gunzip(candidate))
    return parse_and_convert(raw)


def spec3_error(text: str, report: Report) -> IgnitionError:
    """What is printed for a document that a 3.x parser refused."""
    return IgnitionError(
        f"parsing Ignition config spec v3 failed with error: {text}\nReport: {report}",
        report=report,
        hint="correct the entries of the report",
    )


def _strict(raw: bytes) -> Parsed | None:
    """The fast path; None when there is anything to say. Of a key that stands twice in exactly the same
    spelling only the last is seen here, where the original lays the later value over the earlier one."""
    try:
        config = _DECODER.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    minor = _MINORS.get(config.ignition.version)
    if minor is None or _HUGE.search(raw):
        return None
    if minor < 5 and _mentions_later_keys(config, raw, minor):
        return None
    if validate(config, minor).entries:
        return None
    return Parsed(config if minor == 5 else up(config), f"3.{minor}.0", OK)


def _mentions_later_keys(config: t.Config, raw: bytes, minor: int) -> bool:
    """Whether the text may have keys that its version does not know, or zero values that it spells
    otherwise."""
    if keys_since(minor).search(raw):
        return True
    storage = config.storage
    return minor < 3 and (
        any(link.target is None for link in storage.links) or any(raid.level is None for raid in storage.raid)
    )


def _exact(raw: bytes) -> Parsed:
    try:
        document = Document(raw)
    except JSONSyntaxError as error:
        raise _text_error(raw, error.message, error.offset) from None
    text = version_of(document)
    if isinstance(text, TypeMismatch):
        raise _text_error(raw, *text)
    version = parse_version(text)
    if version is None:
        raise _version_error("invalid")
    if is_spec3(version):
        return _spec3(document, version)
    if is_spec2(version):
        return Parsed(*v2.parse(document, version))
    raise _version_error("unknown")


def _spec3(document: Document, version: Version) -> Parsed:
    loose = normalise(document, version.minor)
    if loose.mismatch is not None:
        raise _text_error(document.raw, *loose.mismatch)
    config = msgspec.convert(loose.value, t.Config)
    found = validate(config, version.minor).entries
    report = Report((*(_located(entry, document) for entry in found), *loose.unused))
    if report.fatal:
        raise spec3_error(INVALID, report)
    if version.minor < 5:
        config = up(config)
    return Parsed(config, str(version), report)


def _located(entry: Entry, document: Document) -> Entry:
    line, column = document.locate(entry.path)
    return msgspec.structs.replace(entry, line=line, column=column)


def _text_error(raw: bytes, message: str, offset: int) -> IgnitionError:
    line, column = position(raw, offset)
    return spec3_error(INVALID, Report((Entry("error", ROOT, message, line, column),)))


def _version_error(what: str) -> IgnitionError:
    return IgnitionError(
        f"parsing Ignition config failed: {what} version. Supported spec versions: {SUPPORTED_TEXT}",
        report=Report((Entry("error", "$.ignition.version", f"{what} version"),)),
        path="$.ignition.version",
        hint=f"set ignition.version to one of the supported versions, as {t.VERSION}",
    )
