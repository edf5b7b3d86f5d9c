"""What a node refuses although the format allows it."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.ignition.dataurl import encode_base64
from mco.ignition.parse import parse
from mco.ignition.types import VERSION
from mco.render.hints import hint
from mco.render.lint import MAX_FILE_BYTES, lint, lint_arguments
from tests.machineconfigs import core, file, files, units


def entries(config: dict[str, Any]) -> list[tuple[str, str, str]]:
    raw = msgspec.json.encode({"ignition": {"version": VERSION}, **config})
    return [(entry.kind, entry.path, entry.message) for entry in lint(parse(raw).config).entries]


@pytest.mark.parametrize(
    "path",
    [
        "/proc/sys/kernel/panic",
        "/sys/power/state",
        "/dev/null",
        "/dev",
        names.STATE_FOLDER,
        names.STATE_FOLDER + "/journal",
        names.CURRENT_CONFIG_FILE,
        names.NODE_ANNOTATIONS_FILE,
        names.FORCE_FILE,
    ],
)
@pytest.mark.parametrize("kind", ["files", "directories", "links"])
def test_trees_that_are_not_files_of_the_machine(path: str, kind: str) -> None:
    node = file(path, "data:,") if kind == "files" else {"path": path}
    if kind == "links":
        node["target"] = "/x"
    ((level, place, message),) = entries({"storage": {kind: [node]}})
    assert (level, place) == ("error", f"$.storage.{kind}.0.path")
    assert message.startswith(f"{path} belongs to ")
    assert hint(message)


@pytest.mark.parametrize(
    "path", ["/process", "/sysroot/x", "/etc/dev", names.STATE_FOLDER + "-x", "/etc/proc/x"]
)
def test_neighbours_of_those_trees_are_fine(path: str) -> None:
    assert entries(files(file(path, "data:,"))) == []


def test_a_file_cannot_have_anything_below_it() -> None:
    found = entries(
        {
            "storage": {
                "files": [file("/a/b", "data:,"), file("/a/b/c/d", "data:,")],
                "directories": [{"path": "/a/b/e"}, {"path": "/a"}],
            }
        }
    )
    assert found == [
        ("error", "$.storage.directories.0.path", "/a/b/e lies below /a/b, which is a file"),
        ("error", "$.storage.files.1.path", "/a/b/c/d lies below /a/b, which is a file"),
    ]


def test_contents_must_be_in_the_object() -> None:
    found = entries(files(file("/a", "https://example.com/a"), file("/b", append=[{"source": "data:,"}])))
    assert found == [
        ("error", "$.storage.files.0.contents.source", "only data URLs are supported"),
        ("error", "$.storage.files.1.append", "append is not supported"),
    ]


def test_a_gzip_bomb_is_found_without_being_unpacked() -> None:
    bomb = gzip.compress(bytes(MAX_FILE_BYTES + 1), 1)
    ((level, path, message),) = entries(files(file("/a", encode_base64(bomb), compression="gzip")))
    assert (level, path) == ("error", "$.storage.files.0.contents")
    assert str(MAX_FILE_BYTES) in message


def test_what_is_called_gzip_must_be_it() -> None:
    ((level, path, _),) = entries(files(file("/a", "data:,plain", compression="gzip")))
    assert (level, path) == ("error", "$.storage.files.0.contents")
    fine = encode_base64(gzip.compress(b"text"))
    assert entries(files(file("/a", fine, compression="gzip"))) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../x.service", "unit name '../x.service' contains a slash"),
        ("a/b.service", "unit name 'a/b.service' contains a slash"),
        ("...service", "unit name '...service' contains .."),
        ("a\nb.service", "unit name contains a line break"),
    ],
)
def test_a_unit_name_is_one_file_name(name: str, message: str) -> None:
    assert entries(units({"name": name})) == [("error", "$.systemd.units.0.name", message)]


def test_a_dropin_name_is_one_file_name() -> None:
    unit = {"name": "a.service", "dropins": [{"name": "../../b.conf", "contents": ""}]}
    assert entries(units(unit)) == [
        ("error", "$.systemd.units.0.dropins.0.name", "drop-in name '../../b.conf' contains a slash")
    ]


@pytest.mark.parametrize(
    ("text", "what"), [("a\nb", "a line break"), ("a\0", "a NUL"), ("a\r", "a carriage return")]
)
def test_nothing_may_end_the_line_it_is_written_to(text: str, what: str) -> None:
    arguments = {"kernelArguments": {"shouldExist": [text], "shouldNotExist": [text + "x"]}}
    assert entries(core(sshAuthorizedKeys=["fine", text], passwordHash=text) | arguments) == [
        ("error", "$.passwd.users.0.passwordHash", f"password hash contains {what}"),
        ("error", "$.passwd.users.0.sshAuthorizedKeys.1", f"SSH key contains {what}"),
        ("error", "$.kernelArguments.shouldExist.0", f"kernel argument contains {what}"),
        ("error", "$.kernelArguments.shouldNotExist.0", f"kernel argument contains {what}"),
    ]


def test_the_text_of_a_secret_is_not_repeated() -> None:
    ((_, _, message),) = entries(core(passwordHash="$6$secret\n"))
    assert "secret" not in message


def test_account_fields_hold_no_separator() -> None:
    assert entries(
        {"passwd": {"users": [{"name": "a:b"}], "groups": [{"name": "g", "passwordHash": "x:y"}]}}
    ) == [
        ("error", "$.passwd.users.0.name", "user name contains a colon"),
        ("error", "$.passwd.groups.0.passwordHash", "password hash contains a colon"),
    ]


def test_arguments_of_the_spec_are_checked_too() -> None:
    found = [(e.kind, e.path) for e in lint_arguments(["a=b", "c\nd", " "], "$.spec.kernelArguments")]
    assert found == [("error", "$.spec.kernelArguments.1"), ("warn", "$.spec.kernelArguments.2")]


def test_a_normal_config_is_fine() -> None:
    config = (
        files(file("/etc/a", "data:,a"), file("/etc/b/c", "data:,b", compression="gzip"))
        | units({"name": "a@.service", "dropins": [{"name": "10-x.conf", "contents": "[A]\n"}]})
        | core(sshAuthorizedKeys=["ssh-ed25519 AAAA x"], passwordHash="$6$a$b")
    )
    config["storage"]["files"][1]["contents"]["source"] = encode_base64(gzip.compress(b"b"))
    assert entries(config) == []
