"""spec/render.md 8.1: what is accepted, and the texts of what is not."""

from __future__ import annotations

import base64
import gzip
import json
import time
from typing import Any

import pytest

from mco.ignition import types as t
from mco.ignition.encode import to_builtins
from mco.ignition.parse import parse, parse_and_convert, parse_compressed
from mco.ignition.report import Entry, IgnitionError, Report

SUPPORTED = "2.2,3.0,3.1,3.2,3.3,3.4,3.5"


def document(version: str = t.VERSION, **sections: Any) -> bytes:
    return json.dumps({"ignition": {"version": version}, **sections}).encode()


def refused(raw: bytes) -> IgnitionError:
    with pytest.raises(IgnitionError) as caught:
        parse(raw)
    return caught.value


@pytest.mark.parametrize(
    "version", ["2.0.0", "2.1.0", "2.2.0", "3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0"]
)
def test_every_supported_version_becomes_the_newest(version: str) -> None:
    parsed = parse(document(version))
    assert parsed.config == t.EMPTY
    assert parsed.version == version
    assert parsed.report == Report()


@pytest.mark.parametrize(
    "version", ["2.3.0", "2.4.0", "3.5.1", "3.5.0-experimental", "3.5.0+x", "3.6.0", "21.0.0"]
)
def test_unknown_versions_list_the_supported_ones(version: str) -> None:
    error = refused(document(version))
    assert (
        error.message
        == f"parsing Ignition config failed: unknown version. Supported spec versions: {SUPPORTED}"
    )
    assert error.path == "$.ignition.version"


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b"null",
        b'{"ignition":{}}',
        b'{"ignition":{"version":""}}',
        b'{"ignition":{"version":"3"}}',
        b'{"ignition":{"version":"1"}}',
        b'{"ignition":{"version":null}}',
        b'{"ignitionVersion":1}',
        b'{"storage":{}}',
    ],
)
def test_missing_and_unreadable_versions(raw: bytes) -> None:
    message = f"parsing Ignition config failed: invalid version. Supported spec versions: {SUPPORTED}"
    assert refused(raw).message == message


def test_an_empty_document() -> None:
    assert (
        refused(b"").message
        == "parsing Ignition config spec v3 failed with error: not a config (empty)\nReport: "
    )


def test_a_broken_document_tells_line_and_column() -> None:
    error = refused(
        b'{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/etc/a","overwrite":true}]}}'
    )
    assert error.message == (
        "parsing Ignition config spec v3 failed with error: config is not valid\n"
        "Report: error at $.storage.files.0.overwrite, line 1 col 82: "
        "overwrite must be false if source is unspecified\n"
    )
    assert error.report.entries == (
        Entry(
            "error", "$.storage.files.0.overwrite", "overwrite must be false if source is unspecified", 1, 82
        ),
    )


def test_the_outer_function_adds_its_prefix() -> None:
    with pytest.raises(
        IgnitionError, match=r"^failed to parse Ignition config: parsing Ignition config failed: "
    ):
        parse_and_convert(b"{}")


def test_keys_match_whatever_their_case_and_unknown_ones_only_warn() -> None:
    raw = document(STORAGE={"Files": [{"PATH": "/a", "contents": {"source": "data:,"}, "owner": 1}]})
    parsed = parse(raw)
    assert [file.path for file in parsed.config.storage.files] == ["/a"]
    assert not parsed.report.fatal
    assert [str(entry) for entry in parsed.report.entries] == [
        "warning at $.STORAGE, line 1 col 36: unused key STORAGE"
    ]


def test_of_keys_that_differ_in_case_the_last_wins() -> None:
    raw = b'{"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"a","UID":1,"uid":2,"Uid":3}]}}'
    assert parse(raw).config.passwd.users[0].uid == 3


def test_null_is_ignored() -> None:
    raw = b'{"ignition":{"version":"3.5.0","config":null},"passwd":{"users":null},"storage":{"files":null}}'
    assert parse(raw).config == t.EMPTY


@pytest.mark.parametrize(
    ("sections", "text"),
    [
        (
            {"storage": {"files": [{"path": 1}]}},
            "number into Go struct field File.storage.files.Node.path of type string",
        ),
        ({"storage": []}, "array into Go struct field Config.storage of type types.Storage"),
        (
            {"storage": {"files": [{"path": "/a", "mode": 420.0}]}},
            "number 420.0 into Go struct field File.storage.files.FileEmbedded1.mode of type int",
        ),
        (
            {"storage": {"files": [{"path": "/a", "mode": 2**63}]}},
            f"number {2**63} into Go struct field File.storage.files.FileEmbedded1.mode of type int",
        ),
    ],
)
def test_wrong_types(sections: dict[str, Any], text: str) -> None:
    assert f"json: cannot unmarshal {text}\n" in refused(document(**sections)).message


@pytest.mark.parametrize(
    ("version", "key", "sections"),
    [
        ("3.0.0", "httpHeaders", {"storage": {"files": [{"path": "/a", "contents": {"httpHeaders": []}}]}}),
        (
            "3.0.0",
            "mountOptions",
            {"storage": {"filesystems": [{"device": "/dev/a", "mountOptions": ["x"]}]}},
        ),
        ("3.1.0", "luks", {"storage": {"luks": [{"name": "a", "device": "/dev/a"}]}}),
        ("3.1.0", "shouldExist", {"passwd": {"users": [{"name": "a", "shouldExist": False}]}}),
        (
            "3.1.0",
            "resize",
            {"storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "resize": True}]}]}},
        ),
        ("3.2.0", "kernelArguments", {"kernelArguments": {"shouldExist": ["a"]}}),
        ("3.3.0", "discard", {"storage": {"luks": [{"name": "a", "device": "/dev/a", "discard": True}]}}),
        (
            "3.3.0",
            "openOptions",
            {"storage": {"luks": [{"name": "a", "device": "/dev/a", "openOptions": ["x"]}]}},
        ),
        (
            "3.4.0",
            "cex",
            {"storage": {"luks": [{"name": "a", "device": "/dev/a", "cex": {"enabled": True}}]}},
        ),
    ],
)
def test_keys_of_a_later_version_are_unused(version: str, key: str, sections: dict[str, Any]) -> None:
    parsed = parse(document(version, **sections))
    assert [entry.message for entry in parsed.report.entries] == [f"unused key {key}"]
    assert f'"{key}"' not in json.dumps(to_builtins(parsed.config))


@pytest.mark.parametrize(
    ("version", "scheme"), [("3.1.0", "gs://b/k"), ("3.3.0", "arn:aws:s3:::b/k"), ("3.5.0", "ftp://h/x")]
)
def test_sources_of_a_later_version_are_invalid(version: str, scheme: str) -> None:
    error = refused(document(version, storage={"files": [{"path": "/a", "contents": {"source": scheme}}]}))
    assert [entry.message for entry in error.report.entries] == ["invalid url scheme"]


def test_gzipped_documents() -> None:
    """spec/render.md 13.2: base64 and gzip, gzip, plain give the same config."""
    raw = document(passwd={"users": [{"name": "core"}]})
    packed = gzip.compress(raw)
    assert parse_compressed(base64.b64encode(packed)) == parse_compressed(packed) == parse(raw).config
    assert parse_compressed(raw) == parse(raw).config


def test_the_warnings_of_a_valid_config_are_kept() -> None:
    unit = {"name": "a.service", "enabled": True, "contents": "[Unit]\nA=b\n"}
    report = parse(document(systemd={"units": [unit]})).report
    assert not report.fatal
    assert str(report).startswith("warning at $.systemd.units.0.contents, line 1 col ")


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    raw = b'{"ignition":{"version":"3.5.0"},"x":' + b"[" * 20_000
    assert "exceeded max depth" in refused(raw).message


def test_a_thousand_configs_of_ten_kilobytes_in_well_under_a_second() -> None:
    data = base64.b64encode(bytes(range(256)) * 9).decode()
    files = [
        {"path": f"/etc/{n}", "mode": 420, "contents": {"source": f"data:;base64,{data}"}} for n in range(3)
    ]
    unit = {"name": "a.service", "enabled": True, "contents": "[Unit]\nA=b\n\n[Install]\nWantedBy=x\n"}
    raw = document(storage={"files": files}, systemd={"units": [unit]})
    start = time.process_time()
    for _ in range(1000):
        parse(raw)
    assert time.process_time() - start < 1.0
