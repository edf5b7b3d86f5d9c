"""spec/render.md 8.2 and 8.3: what each step down refuses and drops, what 2.x becomes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from mco.ignition import types as t
from mco.ignition.parse import parse, parse_and_convert
from mco.ignition.report import IgnitionError
from mco.ignition.translate import down
from mco.ignition.versions import SUPPORTED, SUPPORTED_TEXT

DATA = {"source": "data:,x"}


def config(**sections: Any) -> t.Config:
    ignition = {"version": t.VERSION, **sections.pop("ignition", {})}
    return msgspec.convert({"ignition": ignition, **sections}, t.Config)


def luks(**fields: Any) -> dict[str, Any]:
    return {"storage": {"luks": [{"name": "a", "device": "/dev/a", **fields}]}}


def refusal(version: str, **sections: Any) -> str:
    with pytest.raises(IgnitionError) as caught:
        down(config(**sections), version)
    return caught.value.message


def written(version: str, **sections: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(down(config(**sections), version))
    return document


def test_the_supported_versions() -> None:
    assert SUPPORTED == ("2.2", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5")
    assert SUPPORTED_TEXT == "2.2,3.0,3.1,3.2,3.3,3.4,3.5"


@pytest.mark.parametrize("version", ["3.5.0", "3.4.0", "3.3.0", "3.2.0", "3.1.0", "2.2.0"])
def test_the_empty_config_is_just_a_version(version: str) -> None:
    assert down(t.EMPTY, version) == b'{"ignition":{"version":"%s"}}' % version.encode()


@pytest.mark.parametrize("version", ["3.0.0", "2.1.0", "2.3.0", "3.6.0", "4.0.0", "7.7.7", "x"])
def test_versions_that_nothing_is_converted_to(version: str) -> None:
    assert refusal(version).endswith("the requested conversion is not supported")


def test_cex_is_dropped_without_an_error() -> None:
    assert written("3.4.0", **luks(cex={"enabled": True}))["storage"]["luks"] == [
        {"device": "/dev/a", "name": "a"}
    ]


KERNEL = {"kernelArguments": {"shouldExist": ["a"]}}
USER = {"passwd": {"users": [{"name": "a", "shouldExist": False}]}}
GROUP = {"passwd": {"groups": [{"name": "a", "shouldExist": False}]}}
RESIZE = {"storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "resize": True}]}]}}
HEADERS = [{"name": "A", "value": "1"}]
REMOTE = {"source": "https://h/x", "httpHeaders": HEADERS}


@pytest.mark.parametrize(
    ("version", "sections", "message"),
    [
        (
            "3.3.0",
            luks(clevis={"tang": [{"url": "http://t", "thumbprint": "x", "advertisement": "{}"}]}),
            "Invalid input config: tang offline provisioning is not supported in spec v3.3",
        ),
        ("3.3.0", luks(discard=True), "Invalid input config: luks discard is not supported in spec v3.3"),
        (
            "3.3.0",
            luks(openOptions=["x"]),
            "Invalid input config: luks openOptions is not supported in spec v3.3",
        ),
        (
            "3.3.0",
            {"storage": {"files": [{"path": "/a", "mode": 0o4755}]}},
            "Invalid input config: special mode bits are not supported in spec v3.3",
        ),
        (
            "3.3.0",
            {"storage": {"directories": [{"path": "/a", "mode": 0o1777}]}},
            "Invalid input config: special mode bits are not supported in spec v3.3",
        ),
        (
            "3.3.0",
            {"ignition": {"config": {"merge": [{"source": "arn:aws:s3:::b/k"}]}}},
            "Invalid input config: arn: scheme for s3 is not supported in spec v3.3",
        ),
        ("3.2.0", KERNEL, "KernelArguments is not supported on 3.2"),
        ("3.1.0", luks(), "LUKS is not supported on 3.1"),
        ("3.1.0", USER, "ShouldExist in Passwd.Users is not supported on 3.1"),
        ("3.1.0", GROUP, "ShouldExist in Passwd.Groups is not supported on 3.1"),
        ("3.1.0", RESIZE, "Resize in Storage.Disks.Partitions is not supported on 3.1"),
        ("2.2.0", KERNEL, "KernelArguments is not supported on 3.2"),
        ("2.2.0", luks(), "LUKS is not supported on 2.2"),
        ("2.2.0", USER, "ShouldExist in Passwd.Users is not supported on 2.2"),
        ("2.2.0", RESIZE, "Resize in Storage.Disks.Partitions is not supported on 2.2"),
        (
            "2.2.0",
            {"storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "sizeMiB": 1}]}]}},
            "SizeMiB and StartMiB in Storage.Disks.Partitions is not supported on 2.2",
        ),
        (
            "2.2.0",
            {"storage": {"filesystems": [{"device": "/dev/a", "format": "ext4", "mountOptions": ["ro"]}]}},
            "MountOptions in Storage.Filesystems is not supported on 2.2",
        ),
        (
            "2.2.0",
            {"storage": {"files": [{"path": "/a", "contents": REMOTE}]}},
            "HTTPHeaders in Storage.Files.Contents are not supported on 2.2",
        ),
        (
            "2.2.0",
            {"storage": {"files": [{"path": "/a", "append": [REMOTE]}]}},
            "HTTPHeaders in Storage.Files.Append.* are not supported on 2.2",
        ),
        (
            "2.2.0",
            {"ignition": {"proxy": {"httpProxy": "http://p"}}},
            "HTTP proxies in Ignition.Proxy are not supported on 2.2",
        ),
        (
            "2.2.0",
            {"ignition": {"config": {"merge": [{"source": "https://h", "compression": "gzip"}]}}},
            "Compression in Ignition.Config.Merge is not supported on 2.2",
        ),
        (
            "2.2.0",
            {"ignition": {"config": {"replace": REMOTE}}},
            "HTTPHeaders in Ignition.Config.Replace are not supported on 2.2",
        ),
        (
            "2.2.0",
            {"ignition": {"security": {"tls": {"certificateAuthorities": [REMOTE]}}}},
            "HTTPHeaders in Ignition.Security.TLS.CertificateAuthorities are not supported on 2.2",
        ),
    ],
)
def test_what_an_older_version_cannot_say(version: str, sections: dict[str, Any], message: str) -> None:
    assert refusal(version, **sections) == message


def test_an_invalid_config_is_not_converted() -> None:
    message = refusal("3.4.0", storage={"files": [{"path": "a"}]})
    assert message == "invalid input config:\nerror at $.storage.files.0.path: path not absolute\n"


def test_what_the_older_rules_refuse_is_not_written() -> None:
    sections = {"storage": {"filesystems": [{"device": "/dev/a", "format": "none"}]}}
    assert refusal("3.2.0", **sections) == (
        "Converted spec has unexpected fatal error:\n"
        "error at $.storage.filesystems.0.format: invalid filesystem format\n"
    )


def test_what_says_nothing_is_dropped() -> None:
    sections: dict[str, Any] = {
        "passwd": {"users": [{"name": "a", "shouldExist": True}]},
        "storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "resize": False}]}]},
    }
    document = written("3.1.0", **sections)
    assert document["passwd"]["users"] == [{"name": "a"}]
    assert document["storage"]["disks"] == [{"device": "/dev/a", "partitions": [{"number": 1}]}]


def test_files_in_spec_2() -> None:
    """Overwrite unset becomes false, source-less files go, each appendix is a file of its own."""
    document = written(
        "2.2.0",
        storage={
            "files": [
                {"path": "/a", "mode": 420, "contents": DATA},
                {"path": "/b"},
                {
                    "path": "/c",
                    "overwrite": True,
                    "contents": DATA,
                    "append": [DATA, {**DATA, "compression": "gzip"}],
                },
            ]
        },
    )
    root = {"filesystem": "root"}
    assert document["storage"]["files"] == [
        {**root, "overwrite": False, "path": "/a", "contents": DATA, "mode": 420},
        {**root, "overwrite": True, "path": "/c", "contents": DATA},
        {**root, "overwrite": False, "path": "/c", "append": True, "contents": DATA},
        {
            **root,
            "overwrite": False,
            "path": "/c",
            "append": True,
            "contents": {"compression": "gzip", **DATA},
        },
    ]


def test_filesystems_in_spec_2_are_named_by_their_paths() -> None:
    document = written(
        "2.2.0",
        storage={
            "filesystems": [
                {"device": "/dev/a", "format": "ext4", "path": "/var"},
                {"device": "/dev/b", "format": "swap"},
            ],
            "files": [{"path": "/var/x", "contents": DATA}, {"path": "/etc/x", "contents": DATA}],
        },
    )
    assert [f["name"] for f in document["storage"]["filesystems"]] == ["/var", "1"]
    assert [(f["filesystem"], f["path"]) for f in document["storage"]["files"]] == [
        ("/var", "/x"),
        ("root", "/etc/x"),
    ]


def two(**sections: Any) -> bytes:
    return json.dumps({"ignition": {"version": "2.2.0"}, **sections}).encode()


def two_file(path: str, text: str, **more: Any) -> dict[str, Any]:
    return {"filesystem": "root", "path": path, "mode": 420, "contents": {"source": f"data:,{text}"}, **more}


def test_duplicate_files_of_spec_2_keep_the_last_in_reversed_order() -> None:
    raw = two(storage={"files": [two_file("/a", "1"), two_file("/b", "2"), two_file("/a", "3")]})
    files = parse(raw).config.storage.files
    assert [(file.path, file.contents.source) for file in files] == [("/a", "data:,3"), ("/b", "data:,2")]
    assert all(file.overwrite for file in files)


def test_duplicate_units_of_spec_2_keep_new_dropins() -> None:
    """spec/render.md 13.2: three units of one name: the last contents, two drop-ins of it, one of the
    middle."""
    first, middle, last = (
        {
            "name": "a.service",
            "contents": f"[A]\nb={n}\n",
            "dropins": [{"name": f"{d}.conf"} for d in dropins],
        }
        for n, dropins in ((1, "1"), (2, "23"), (3, "12"))
    )
    units = parse(two(systemd={"units": [first, {"name": "b.service"}, middle, last]})).config.systemd.units
    assert [unit.name for unit in units] == ["a.service", "b.service"]
    assert units[0].contents == "[A]\nb=3\n"
    assert [dropin.name for dropin in units[0].dropins] == ["1.conf", "2.conf", "3.conf"]


def test_users_of_spec_2_are_one_with_all_keys() -> None:
    people = [
        {"name": "core", "sshAuthorizedKeys": ["1", "2"]},
        {"name": "core", "sshAuthorizedKeys": ["3", "2"]},
    ]
    users = parse(two(passwd={"users": people})).config.passwd.users
    assert [user.ssh_authorized_keys for user in users] == [("3", "2", "1")]


def test_appending_files_of_spec_2() -> None:
    file = parse(two(storage={"files": [two_file("/a", "x", append=True)]})).config.storage.files[0]
    assert file.overwrite is False
    assert file.append == (t.Resource(source="data:,x"),)
    assert file.contents == t.Resource()


WRAP = "failed to convert Ignition config spec v2 to v3: unable to convert Ignition spec v2 config to v3: "
DIRECTORY = {"filesystem": "root", "path": "/a", "mode": 493}


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"passwd": {"users": [{"name": "root"}]}},
            "unexpected user with name: root. Only core user is supported",
        ),
        (
            {"networkd": {"units": [{"name": "a.network"}]}},
            f"{WRAP}config includes deprecated networkd section - use Files instead",
        ),
        (
            {"storage": {"filesystems": [{"name": "var", "path": "/var"}]}},
            f'{WRAP}Config defined filesystem "var" but no mapping was defined.'
            "Please specify a path to be used as the filesystem mountpoint.",
        ),
        (
            {"storage": {"files": [two_file("/a", "x")], "directories": [DIRECTORY]}},
            f'{WRAP}Config has conflicting inodes: "File: /a" and "Directory: /a".  '
            "All files, directories and links must specify a unique `path`.",
        ),
        (
            {
                "storage": {
                    "files": [two_file("/l/a", "x")],
                    "links": [{"filesystem": "root", "path": "/l", "target": "/x"}],
                }
            },
            f'{WRAP}File: /l/a uses link defined in config "/l". '
            "Please use a link not defined in Storage:Links",
        ),
        (
            {
                "systemd": {
                    "units": [{"name": "a.service", "dropins": [{"name": "x.conf"}, {"name": "x.conf"}]}]
                }
            },
            f'{WRAP}Config has duplicate dropin name "x.conf" in unit "a.service".  '
            "All dropins must specify a unique `name`.",
        ),
        (
            {"storage": {"disks": [{"device": "/dev/a", "partitions": [{"size": 2048}]}]}},
            f"{WRAP}Invalid input config:\ndeprecated: size is deprecated; use sizeMB instead\n"
            "deprecated: start is deprecated; use startMB instead",
        ),
    ],
)
def test_what_spec_3_cannot_say(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(IgnitionError) as caught:
        parse_and_convert(two(**sections))
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("sections", "path", "message"),
    [
        ({"storage": {"files": [{"path": "/a"}]}}, "$.storage.files.0.filesystem", "no filesystem specified"),
        ({"storage": {"files": [two_file("a", "x")]}}, "$.storage.files.0.path", "path not absolute"),
        (
            {"storage": {"files": [two_file("/a", "x", append=True, overwrite=True)]}},
            "$.storage.files.0",
            "cannot set both append and overwrite to true",
        ),
        (
            {"storage": {"files": [two_file("/a", "x", mode=0o10000)]}},
            "$.storage.files.0.mode",
            "illegal file mode",
        ),
        (
            {"storage": {"filesystems": [{"name": "a"}]}},
            "$.storage.filesystems.0",
            "filesystem is missing mount or path",
        ),
        ({"storage": {"disks": [{"device": "a"}]}}, "$.storage.disks.0.device", "path not absolute"),
        (
            {"storage": {"raid": [{"name": "a", "level": "x"}]}},
            "$.storage.raid.0.level",
            "unrecognized raid level",
        ),
        ({"systemd": {"units": [{"name": "a"}]}}, "$.systemd.units.0.name", "invalid systemd unit extension"),
        (
            {"passwd": {"users": [{"name": "core", "create": {}, "gecos": "x"}]}},
            "$.passwd.users.0.gecos",
            "cannot use both the create object and the user-level gecos field",
        ),
    ],
)
def test_broken_spec_2(sections: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(IgnitionError) as caught:
        parse(two(**sections))
    text = "parsing Ignition spec v2 failed with error: config is not valid\nReport: "
    assert caught.value.message.startswith(text)
    assert (path, message) in [(entry.path, entry.message) for entry in caught.value.report.entries]


def test_older_spec_2_does_not_know_append() -> None:
    raw = two(storage={"files": [two_file("/a", "x", append=True)]}).replace(b"2.2.0", b"2.1.0")
    parsed = parse(raw)
    assert parsed.config.storage.files[0].append == ()
    assert "Config has unrecognized key: append" in str(parsed.report)
