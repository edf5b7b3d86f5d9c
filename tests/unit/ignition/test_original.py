"""Documents of ours with what the original made of them.

`original/*.json` were written by the original's own code (Ignition 2.26, config v3_5, and the libraries it
uses) for documents that a seeded generator made: its error, its report line by line, its encoded config. The
order of its warnings about unused keys is random; they are compared as a set.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.ignition import dataurl, units
from mco.ignition import types as t
from mco.ignition.encode import to_json
from mco.ignition.merge import merge_all
from mco.ignition.parse import parse
from mco.ignition.report import IgnitionError

_FOLDER = Path(__file__).parent / "original"
_OUTER = "parsing Ignition config spec v3 failed with error: "
_VERSIONS = {
    "invalid config version (couldn't parse)": "parsing Ignition config failed: invalid version.",
    "unsupported config version": "parsing Ignition config failed: unknown version.",
}


def cases(name: str) -> list[Any]:
    rows: list[Any] = json.loads((_FOLDER / name).read_bytes())
    assert len(rows) > 100
    return [pytest.param(row, id=str(index)) for index, row in enumerate(rows)]


def ordered(lines: list[str]) -> tuple[list[str], set[str]]:
    """Errors and rule warnings in order, warnings about the text as a set."""
    loose = {line for line in lines if "unused key" in line or "context tree" in line}
    return [line for line in lines if line not in loose], loose


@pytest.mark.parametrize("case", cases("parse.json"))
def test_parse(case: dict[str, Any]) -> None:
    raw = case["document"].encode()
    if not case["error"]:
        parsed = parse(raw)
        assert to_json(parsed.config).decode() == case["config"]
        assert ordered(str(parsed.report).splitlines()) == ordered(case["report"])
        return
    with pytest.raises(IgnitionError) as caught:
        parse(raw)
    message = caught.value.message
    if case["error"] in _VERSIONS:
        assert message.startswith(_VERSIONS[case["error"]])
        return
    error, _, report = message.removeprefix(_OUTER).partition("\nReport: ")
    assert error == case["error"]
    assert ordered(report.splitlines()) == ordered(case["report"])


@pytest.mark.parametrize("case", cases("merge.json"))
def test_merge(case: dict[str, Any]) -> None:
    configs = [msgspec.convert(document, t.Config) for document in case["documents"]]
    assert to_json(merge_all(configs).config).decode() == case["config"]


@pytest.mark.parametrize("case", cases("units.json"))
def test_unit_grammar(case: dict[str, Any]) -> None:
    try:
        options = units.parse(case["text"])
        error = ""
    except units.UnitError as refused:
        options, error = (), refused.message
    assert error == case["error"]
    if not error and case["text"]:
        assert any(option.section == "Install" for option in options) == case["installs"]


@pytest.mark.parametrize("case", cases("dataurls.json"))
def test_data_urls(case: dict[str, Any]) -> None:
    try:
        data, error = base64.b64encode(dataurl.decode(case["source"])).decode(), ""
    except dataurl.DataURLError as refused:
        data, error = "", refused.message
    assert (data, error) == (case["data"], case["error"])
    if error:
        with pytest.raises(dataurl.DataURLError):
            dataurl.check(case["source"])
    else:
        dataurl.check(case["source"])
