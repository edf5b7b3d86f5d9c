"""Reads documents of spec 2.0.0 to 2.2.0 (spec/render.md 8.1, 8.2)."""

from __future__ import annotations

import msgspec

from mco.ignition import types as t
from mco.ignition.document import Document
from mco.ignition.loose import normalise
from mco.ignition.report import ROOT, Entry, IgnitionError, Report
from mco.ignition.v2 import types as v2
from mco.ignition.v2.dedupe import dedupe
from mco.ignition.v2.rules import validate
from mco.ignition.v2.up import up
from mco.ignition.versions import Version

_INVALID = "config is not valid"


def read(document: Document, version: Version) -> tuple[v2.Config, Report]:
    """The config as 2.2 and the warnings about it; raises IgnitionError with the original's outer text."""
    loose = normalise(document, version.minor, v2.Config)
    if loose.mismatch is not None:
        line, column = document.position(loose.mismatch.offset)
        raise _error(Report((Entry("error", ROOT, loose.mismatch.message, line, column),)))
    config = msgspec.convert(loose.value, v2.Config)
    found = (_located(entry, document) for entry in validate(config).entries)
    unused = (_reworded(entry) for entry in loose.unused)
    report = Report((*found, *unused))
    if report.fatal:
        raise _error(report)
    if version.minor < 2:
        ignition = msgspec.structs.replace(config.ignition, version=v2.VERSION)
        config = msgspec.structs.replace(config, ignition=ignition)
    return config, report


def parse(document: Document, version: Version) -> tuple[t.Config, str, Report]:
    """The config in 3.5, the document's version, the warnings."""
    config, report = read(document, version)
    return up(dedupe(config)), str(version), report


def _error(report: Report) -> IgnitionError:
    return IgnitionError(
        f"parsing Ignition spec v2 failed with error: {_INVALID}\nReport: {report}",
        report=report,
        hint="correct the entries of the report",
    )


def _reworded(entry: Entry) -> Entry:
    key = entry.path.rpartition(".")[2]
    if not entry.message.startswith("unused key"):
        return entry
    return msgspec.structs.replace(entry, message=f"Config has unrecognized key: {key}")


def _located(entry: Entry, document: Document) -> Entry:
    line, column = document.locate(entry.path)
    return msgspec.structs.replace(entry, line=line, column=column)
