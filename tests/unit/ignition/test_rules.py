"""spec/render.md 10: every rule, with the place it names and the original's text."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.ignition import types as t
from mco.ignition.validate import validate

Found = tuple[str, str, str]


def found(sections: dict[str, Any], minor: int = 5) -> list[Found]:
    ignition = {"version": f"3.{minor}.0", **sections.get("ignition", {})}
    config = msgspec.convert({**sections, "ignition": ignition}, t.Config)
    return [(entry.kind, entry.path, entry.message) for entry in validate(config, minor).entries]


def source(url: str | None, **more: Any) -> dict[str, Any]:
    contents = {"source": url, **more} if url is not None else more
    return {"storage": {"files": [{"path": "/a", "contents": contents}]}}


def stored(kind: str, *elements: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"storage": {kind: list(elements), **more}}


CONTENTS = "$.storage.files.0.contents"
HASH = "sha512-" + "0" * 128


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "http://h/x",
        "https://h/x",
        "HTTP://h",
        "tftp://h/x",
        "gs://b/k",
        "s3://b/k",
        "s3://b/k?versionId=1",
        "arn:aws:s3:::b/k",
        "arn:aws:s3:r:1:accesspoint/a/object/k",
        "data:,",
        "data:,a%20b",
        "data:;base64,aGk=",
        "data:text/plain;charset=utf-8;base64,aGk=",
    ],
)
def test_sources(url: str | None) -> None:
    assert found(source(url)) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://b/k?versionId=", "invalid S3 object VersionId"),
        ("arn:aws:s3:::b/k?versionId=", "invalid S3 object VersionId"),
        ("arn:aws:iam:::b/k", "invalid S3 ARN format"),
        ("arn:aws:s3:::b", "invalid S3 ARN format"),
        ("arn:aws:s3:r:1:accesspoint/a", "invalid S3 ARN format"),
        ("ftp://h/x", "invalid url scheme"),
        ("oem:///x", "invalid url scheme"),
        ("/etc/x", "invalid url scheme"),
        ("http://h:port/", "unable to parse url"),
        ("://", "unable to parse url"),
        ("http://h/%zz", "unable to parse url"),
        ("http://a b/", "unable to parse url"),
        ("data:,a\n", "unable to parse url"),
        ("data:,a b", "invalid data character"),
        ("data:;base64,aGk", "illegal base64 data at input byte 0"),
    ],
)
def test_bad_sources(url: str, message: str) -> None:
    assert found(source(url)) == [("error", f"{CONTENTS}.source", message)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (HASH, ""),
        ("sha256-" + "z" * 64, ""),
        ("sha512", "malformed hash specifier"),
        ("", "malformed hash specifier"),
        ("md5-00", "unrecognized hash function"),
        ("sha512-00", "incorrect size for hash sum"),
        ("sha256-" + "0" * 128, "incorrect size for hash sum"),
    ],
)
def test_hashes(value: str, message: str) -> None:
    expected = [("error", f"{CONTENTS}.verification.hash", message)] if message else []
    assert found(source("data:,", verification={"hash": value})) == expected


# What is wrong, where, and the text; all errors.
CASES: list[tuple[dict[str, Any], str, str]] = [
    (source("data:,", compression="xz"), f"{CONTENTS}.compression", "invalid compression method"),
    (
        source(None, verification={"hash": HASH}),
        f"{CONTENTS}.verification.hash",
        "source must be specified if verification is specified",
    ),
    (source(None, httpHeaders=[{"name": "A"}]), f"{CONTENTS}.httpHeaders", "unable to parse url"),
    (
        source("data:,", httpHeaders=[{"name": "A"}]),
        f"{CONTENTS}.httpHeaders",
        "cannot use HTTP headers with this source scheme",
    ),
    (
        source("http://h", httpHeaders=[{"name": ""}]),
        f"{CONTENTS}.httpHeaders.0.name",
        "HTTP header name can't be empty",
    ),
    (
        source("http://h", httpHeaders=[{"name": "A", "value": ""}]),
        f"{CONTENTS}.httpHeaders.0.value",
        "unable to parse HTTP header",
    ),
    ({"ignition": {"config": {"merge": [{}]}}}, "$.ignition.config.merge.0", "source is required"),
    (
        {"ignition": {"security": {"tls": {"certificateAuthorities": [{"source": ""}]}}}},
        "$.ignition.security.tls.certificateAuthorities.0",
        "source is required",
    ),
    (
        {"ignition": {"proxy": {"httpProxy": "ftp://p"}}},
        "$.ignition.proxy.httpProxy",
        "proxies must be http(s)",
    ),
    ({"ignition": {"proxy": {"httpsProxy": ""}}}, "$.ignition.proxy.httpsProxy", "proxies must be http(s)"),
    ({"ignition": {"version": "3.4.0"}}, "$.ignition.version", "unsupported config version"),
    ({"ignition": {"version": "3"}}, "$.ignition.version", "invalid config version (couldn't parse)"),
    (stored("files", {"path": ""}), "$.storage.files.0.path", "path not specified"),
    (stored("directories", {"path": "a"}), "$.storage.directories.0.path", "path not absolute"),
    (stored("files", {"path": "/a/../b"}), "$.storage.files.0.path", "path is not fully simplified"),
    (stored("files", {"path": "/a/"}), "$.storage.files.0.path", "path is not fully simplified"),
    (stored("files", {"path": "//a"}), "$.storage.files.0.path", "path is not fully simplified"),
    (stored("files", {"path": "/a/."}), "$.storage.files.0.path", "path is not fully simplified"),
    (
        stored("files", {"path": "/a", "user": {"id": 0, "name": "root"}}),
        "$.storage.files.0.user",
        "cannot set both id and name",
    ),
    (
        stored("directories", {"path": "/a", "group": {"id": 0, "name": "root"}}),
        "$.storage.directories.0.group",
        "cannot set both id and name",
    ),
    (stored("files", {"path": "/a", "mode": 0o10000}), "$.storage.files.0.mode", "illegal file mode"),
    (
        stored("files", {"path": "/a", "overwrite": True}),
        "$.storage.files.0.overwrite",
        "overwrite must be false if source is unspecified",
    ),
    (stored("links", {"path": "/l"}), "$.storage.links.0.target", "link target is required"),
    (
        stored("links", {"path": "/l", "target": "/d", "hard": True}, directories=[{"path": "/d"}]),
        "$.storage.links.0",
        "hard link target is a directory",
    ),
    (
        stored("files", {"path": "/l/a"}, links=[{"path": "/l", "target": "/x"}]),
        "$.storage.files.0",
        "file path includes link in config",
    ),
    (
        stored("directories", {"path": "/l/a"}, links=[{"path": "/l", "target": "/x"}]),
        "$.storage.directories.0",
        "directory path includes link in config",
    ),
    (
        stored("links", {"path": "/l", "target": "/x"}, {"path": "/l/a", "target": "/x"}),
        "$.storage.links.1",
        "link path includes link in config",
    ),
    (
        stored("files", {"path": "/etc/systemd/system/a.service"})
        | {"systemd": {"units": [{"name": "a.service", "contents": "[A]\n"}]}},
        "$.storage.files.0.path",
        "path conflicts with systemd unit or dropin",
    ),
    (
        stored("directories", {"path": "/etc/systemd/system/a.service.d/x.conf"})
        | {
            "systemd": {
                "units": [{"name": "a.service", "dropins": [{"name": "x.conf", "contents": "[A]\n"}]}]
            }
        },
        "$.storage.directories.0.path",
        "path conflicts with systemd unit or dropin",
    ),
    (
        stored("filesystems", {"device": "/dev/a", "format": "zfs"}),
        "$.storage.filesystems.0.format",
        "invalid filesystem format",
    ),
    (
        stored("filesystems", {"device": "/dev/a", "path": "/m"}),
        "$.storage.filesystems.0.format",
        "format cannot be empty when path, label, uuid, wipeFilesystem, options, or mountOptions "
        "is specified",
    ),
    (stored("filesystems", {"device": ""}), "$.storage.filesystems.0.device", "path not specified"),
    (stored("disks", {"device": ""}), "$.storage.disks.0.device", "disk device is required"),
    (stored("disks", {"device": "sda"}), "$.storage.disks.0.device", "path not absolute"),
    (
        stored("raid", {"name": "a", "devices": ["/dev/a"]}),
        "$.storage.raid.0.level",
        "raid level is required",
    ),
    (
        stored("raid", {"name": "a", "devices": ["/dev/a"], "level": "raid7"}),
        "$.storage.raid.0.level",
        "unrecognized raid level",
    ),
    (
        stored("raid", {"name": "a", "devices": ["/dev/a"], "level": "stripe", "spares": 1}),
        "$.storage.raid.0.level",
        "spares unsupported for linear and raid0 arrays",
    ),
    (stored("raid", {"name": "a", "level": "1"}), "$.storage.raid.0.devices", "raid devices required"),
    (
        stored("raid", {"name": "a", "level": "1", "devices": ["x"]}),
        "$.storage.raid.0.devices.0",
        "path not absolute",
    ),
]


@pytest.mark.parametrize(("sections", "path", "message"), CASES)
def test_one_rule_at_a_time(sections: dict[str, Any], path: str, message: str) -> None:
    assert found(sections) == [("error", path, message)]


@pytest.mark.parametrize(
    ("form", "longest"), [("ext4", 16), ("btrfs", 256), ("xfs", 12), ("swap", 15), ("vfat", 11)]
)
def test_filesystem_labels(form: str, longest: int) -> None:
    def labelled(length: int) -> list[Found]:
        return found(stored("filesystems", {"device": "/dev/a", "format": form, "label": "l" * length}))

    assert labelled(longest) == []
    message = f"filesystem labels cannot be longer than {longest} characters when using {form}"
    assert labelled(longest + 1) == [("error", "$.storage.filesystems.0.label", message)]


def partitioned(*partitions: dict[str, Any]) -> list[Found]:
    return found(stored("disks", {"device": "/dev/a", "partitions": list(partitions)}))


@pytest.mark.parametrize(
    ("partitions", "where", "message"),
    [
        ([{"number": 1}, {"number": 1, "label": "x"}], ".1", "partition numbers collide"),
        (
            [{"number": 1, "startMiB": 1, "sizeMiB": 5}, {"number": 2, "startMiB": 5, "sizeMiB": 5}],
            ".1",
            "partitions overlap",
        ),
        (
            [{"number": 1, "startMiB": 1, "sizeMiB": 9}, {"number": 2, "startMiB": 3, "sizeMiB": 0}],
            ".1",
            "partitions overlap",
        ),
        (
            [{"number": 1, "label": "x"}, {"number": 2, "label": "x"}],
            ".1",
            "cannot use the same partition label twice",
        ),
        (
            [{"number": 0, "label": "x"}, {"number": 2, "shouldExist": False}],
            "",
            "shouldExist is false for a partition and other partition(s) has start or size 0",
        ),
        (
            [{"number": 1, "shouldExist": False, "sizeMiB": 1}],
            ".0",
            "shouldExist specified false with other options also specified",
        ),
        ([{"number": 0}], ".0", "a partition number >= 1 or a label must be specified"),
        ([{"label": "l" * 37}], ".0.label", "partition labels may not exceed 36 characters"),
        ([{"label": "a:b"}], ".0.label", "partition label will be truncated to text before the colon"),
        (
            [{"number": 1, "guid": "x"}],
            ".0.guid",
            'doesn\'t match the form "01234567-89AB-CDEF-EDCB-A98765432101"',
        ),
    ],
)
def test_partitions(partitions: list[dict[str, Any]], where: str, message: str) -> None:
    assert ("error", f"$.storage.disks.0.partitions{where}", message) in partitioned(*partitions)


@pytest.mark.parametrize(
    "partitions",
    [
        [{"number": 1, "startMiB": 1, "sizeMiB": 5}, {"number": 2, "startMiB": 6, "sizeMiB": 5}],
        [{"number": 1, "startMiB": 0, "sizeMiB": 5}, {"number": 2, "startMiB": 0, "sizeMiB": 5}],
        [{"number": 0, "label": "x"}, {"number": 0, "label": "y"}],
        [{"number": 1, "guid": "", "typeGuid": "01234567-89ab-cdef-edcb-a98765432101"}],
        [{"label": "l" * 36}],
    ],
)
def test_good_partitions(partitions: list[dict[str, Any]]) -> None:
    assert partitioned(*partitions) == []


def encrypted(**fields: Any) -> list[Found]:
    return found(stored("luks", {"name": "a", "device": "/dev/a", **fields}))


@pytest.mark.parametrize(
    ("fields", "where", "message"),
    [
        ({"name": "a/b"}, "name", "device names cannot contain slashes"),
        ({"label": "l" * 48}, "label", "luks device labels cannot be longer than 47 characters"),
        ({"device": None}, "device", "disk device is required"),
        (
            {"clevis": {"custom": {"pin": "tpm2", "config": "{}"}, "threshold": 1}},
            "clevis",
            "cannot use custom clevis config with tpm2, tang, or threshold",
        ),
        ({"keyFile": {"source": "x:y"}}, "keys", "invalid key-file source"),
        ({"cex": {"enabled": True}, "clevis": {"tpm2": True}}, "cex", "cannot use cex with clevis"),
        ({"cex": {"enabled": True}, "keyFile": {"source": "data:,"}}, "cex", "cannot use key file with cex"),
        ({"clevis": {"custom": {"config": "{}"}}}, "clevis.custom.pin", "missing required custom clevis pin"),
        ({"clevis": {"custom": {"pin": "x", "config": "{}"}}}, "clevis.custom.pin", "unsupported clevis pin"),
        (
            {"clevis": {"custom": {"pin": "sss"}}},
            "clevis.custom.config",
            "missing required custom clevis config",
        ),
        (
            {"clevis": {"tang": [{"url": "ftp://t", "thumbprint": "x"}]}},
            "clevis.tang.0.url",
            "invalid url scheme",
        ),
        ({"clevis": {"tang": [{"url": "http://t"}]}}, "clevis.tang.0.thumbprint", "thumbprint is required"),
        (
            {"clevis": {"tang": [{"url": "http://t", "thumbprint": "x", "advertisement": "{"}]}},
            "clevis.tang.0.advertisement",
            "advertisement is not valid JSON",
        ),
    ],
)
def test_luks(fields: dict[str, Any], where: str, message: str) -> None:
    assert ("error", f"$.storage.luks.0.{where}", message) in encrypted(**fields)


@pytest.mark.parametrize(
    "name",
    [
        "a.automount",
        "a.device",
        "a.mount",
        "a.path",
        "a.scope",
        "a.service",
        "a.slice",
        "a.snapshot",
        "a.socket",
        "a.swap",
        "a.target",
        "a.timer",
        "a@.service",
        "a@b.c.service",
    ],
)
def test_unit_names(name: str) -> None:
    assert found({"systemd": {"units": [{"name": name}]}}) == []


@pytest.mark.parametrize(
    ("unit", "where", "message"),
    [
        ({"name": "a.unit"}, "name", "invalid systemd unit extension"),
        ({"name": "a"}, "name", "invalid systemd unit extension"),
        (
            {"name": "a.service", "contents": "[A"},
            "contents",
            "invalid unit content: unable to find end of section",
        ),
        (
            {"name": "a.service", "contents": "[A] b\n"},
            "contents",
            'invalid unit content: found garbage after section name : "b"',
        ),
        (
            {"name": "a.service", "contents": "[A]\nb\n"},
            "contents",
            "invalid unit content: unexpected newline encountered while parsing option name",
        ),
        ({"name": "a.service", "contents": "[A]\nb"}, "contents", "invalid unit content: EOF"),
        (
            {"name": "a.service", "contents": "[A]\nb=" + "x" * 3000},
            "contents",
            "invalid unit content: line too long (max 2048 bytes)",
        ),
        (
            {"name": "a.service", "dropins": [{"name": "x"}]},
            "dropins.0.name",
            "invalid systemd drop-in extension",
        ),
        (
            {"name": "a.service", "dropins": [{"name": "x.conf", "contents": "[A"}]},
            "dropins.0.contents",
            "invalid unit content: unable to find end of section",
        ),
    ],
)
def test_units(unit: dict[str, Any], where: str, message: str) -> None:
    assert found({"systemd": {"units": [unit]}}) == [("error", f"$.systemd.units.0.{where}", message)]


SPECIAL = "setuid/setgid/sticky bits are not supported or functional in spec versions older than 3.6.0"


@pytest.mark.parametrize(
    ("sections", "path", "message"),
    [
        (stored("files", {"path": "/a", "mode": 0o4755}), "$.storage.files.0.mode", SPECIAL),
        (stored("directories", {"path": "/a", "mode": 0o1777}), "$.storage.directories.0.mode", SPECIAL),
        (
            {"ignition": {"proxy": {"httpsProxy": "http://p"}}},
            "$.ignition.proxy.httpsProxy",
            "insecure plaintext HTTP proxy specified for HTTPS resources",
        ),
        (
            stored("links", {"path": "/l", "target": "/x", "hard": True, "user": {"name": "core"}}),
            "$.storage.links.0.user.name",
            "user/group ignored for hard link",
        ),
        (
            stored(
                "filesystems",
                {"device": "/dev/a"},
                disks=[{"device": "/dev/a", "partitions": [{"number": 1}]}],
            ),
            "$.storage.filesystems.0.device",
            "filesystem overwrites partitioned device",
        ),
        (
            stored("filesystems", {"device": "/dev/a"}, disks=[{"device": "/dev/a", "wipeTable": True}]),
            "$.storage.filesystems.0.device",
            "device matches disk with wipeTable enabled; filesystem will be wiped",
        ),
        (
            {"systemd": {"units": [{"name": "a@.service", "enabled": True, "contents": "[Unit]\nA=b\n"}]}},
            "$.systemd.units.0.contents",
            'unit "a@.service" is enabled, but has no install section so enable does nothing',
        ),
    ],
)
def test_warnings_are_not_fatal(sections: dict[str, Any], path: str, message: str) -> None:
    assert found(sections) == [("warn", path, message)]


@pytest.mark.parametrize(
    ("sections", "path"),
    [
        (stored("files", {"path": "/a"}, {"path": "/a"}), "$.storage.files.1"),
        (stored("files", {"path": "/a"}, directories=[{"path": "/a"}]), "$.storage.files.0"),
        (stored("links", {"path": "/a", "target": "/x"}, files=[{"path": "/a"}]), "$.storage.links.0"),
        (stored("raid", {"name": "a", "level": "1", "devices": ["/d", "/d"]}), "$.storage.raid.0.devices.1"),
        ({"passwd": {"users": [{"name": "a"}, {"name": "a"}]}}, "$.passwd.users.1"),
        (
            {"passwd": {"users": [{"name": "a", "sshAuthorizedKeys": ["k", "k"]}]}},
            "$.passwd.users.0.sshAuthorizedKeys.1",
        ),
        ({"systemd": {"units": [{"name": "a.service"}, {"name": "a.service"}]}}, "$.systemd.units.1"),
        (
            {"kernelArguments": {"shouldExist": ["a"], "shouldNotExist": ["a"]}},
            "$.kernelArguments.shouldNotExist.0",
        ),
    ],
)  # fmt: skip
def test_what_is_defined_twice(sections: dict[str, Any], path: str) -> None:
    assert found(sections) == [("error", path, "duplicate entry defined")]


def test_lists_that_may_repeat() -> None:
    resource = {"source": "data:,"}
    sections = stored(
        "files",
        {"path": "/a", "append": [resource, resource]},
        filesystems=[
            {"device": "/dev/a", "format": "ext4", "options": ["x", "x"], "mountOptions": ["x", "x"]}
        ],
        raid=[{"name": "a", "level": "1", "devices": ["/d"], "options": ["x", "x"]}],
        luks=[{"name": "a", "device": "/d", "options": ["x", "x"]}],
    )
    assert found(sections) == []


def test_user_names_are_not_looked_at() -> None:
    assert found({"passwd": {"users": [{"name": ""}, {"name": "a b"}]}}) == []


def test_everything_is_listed() -> None:
    sections = stored("files", {"path": "a", "mode": -1}, {"path": ""}) | {
        "systemd": {"units": [{"name": "x"}]}
    }
    assert [path for _, path, _ in found(sections) if "mode" not in path] == [
        "$.storage.files.0.path",
        "$.storage.files.1.path",
        "$.systemd.units.0.name",
    ]
