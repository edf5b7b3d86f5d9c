"""`mco validate`: everything wrong in files, at once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mco.ignition.dataurl import encode_base64
from mco.render.lint import MAX_FILE_BYTES
from tests.cli.test_render import mco, write
from tests.machineconfigs import API, core, file, files, manifest, units


def report(folder: Path) -> tuple[int, list[dict[str, str]]]:
    done = mco("validate", "-f", folder, "-o", "json")
    body = json.loads(done.stdout)
    assert body["errors"] + body["warnings"] == len(body["findings"])
    return done.returncode, body["findings"]


def test_sound_manifests(tmp_path: Path) -> None:
    done = mco("validate", "-f", write(tmp_path, a=manifest("a", files(file("/a", "data:,")))))
    assert (done.returncode, done.stdout) == (0, "1 object: 0 errors, 0 warnings\n")


def test_each_finding_is_printed_with_object_path_place_and_hint(tmp_path: Path) -> None:
    write(tmp_path, a=manifest("a", files(file("a", "data:,")), kernelType="x"), b="a: b: c\n")
    done = mco("validate", "-f", tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        f"error: {tmp_path}/b.yaml: error parsing {tmp_path}/b.yaml: line 1, column 5: "
    )
    assert "error: MachineConfig/a $.spec.kernelType: kernelType=x is invalid" in lines
    assert "error: MachineConfig/a $.spec.config.storage.files.0.path: path not absolute" in lines
    assert f"  at: {tmp_path}/a.yaml, line 1" in lines
    assert "  hint: start the path with a slash" in lines
    assert lines[-1] == "1 object: 3 errors, 0 warnings"


def test_warnings_alone_are_no_failure(tmp_path: Path) -> None:
    code, (finding,) = report(write(tmp_path, a=manifest("a", role=None)))
    assert code == 0
    assert finding["level"] == "warning"


def _pool(name: str, selector: Any) -> dict[str, Any]:
    spec = {"machineConfigSelector": selector}
    return {**API, "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": spec}


BAD: dict[str, tuple[Any, str]] = {
    "unknown version": (manifest("a", {"version": "7.0.0"}), "unknown version"),
    "relative path": (manifest("a", files(file("etc/a", "data:,"))), "path not absolute"),
    "dots": (manifest("a", files(file("/etc/../a", "data:,"))), "path is not fully simplified"),
    "/proc": (manifest("a", files(file("/proc/a", "data:,"))), "belongs to"),
    "/sys": (manifest("a", files(file("/sys/a", "data:,"))), "belongs to"),
    "/dev": (manifest("a", files(file("/dev/a", "data:,"))), "belongs to"),
    "our state": (
        manifest("a", files(file("/var/lib/machine-config-daemon/a", "data:,"))),
        "belongs to this daemon's own state",
    ),
    "unit name": (manifest("a", units({"name": "../a.service"})), "contains a slash"),
    "drop-in name": (
        manifest("a", units({"name": "a.service", "dropins": [{"name": "..a/b.conf"}]})),
        "contains a slash",
    ),
    "argument": (manifest("a", kernelArguments=["a\nb"]), "kernel argument contains a line break"),
    "key": (manifest("a", core(sshAuthorizedKeys=["a\0b"])), "SSH key contains a NUL"),
    "hash": (manifest("a", core(passwordHash="a\nb")), "password hash contains a line break"),
    "duplicate unit": (
        manifest("a", units({"name": "a.service"}, {"name": "a.service"})),
        "duplicate entry defined",
    ),
    "mode": (manifest("a", files(file("/a", "data:,", mode=0o1755))), "invalid mode 01755 for /a"),
    "extension": (manifest("a", {}, extensions=["x"]), "invalid extensions found: [x]"),
    "gzip bomb": (
        manifest(
            "a",
            files(file("/a", encode_base64(gzip.compress(bytes(MAX_FILE_BYTES + 1))), compression="gzip")),
        ),
        f"longer than {MAX_FILE_BYTES} bytes",
    ),
    "5 MB": (manifest("a", files(file("/a", "data:," + "a" * 5_000_000))), "size validation failed"),
    "nothing selected": (_pool("p", {"matchLabels": {"a": "b"}}), "no MachineConfigs found matching"),
    "below a file": (
        manifest("a", files(file("/a", "data:,"), file("/a/b", "data:,"))),
        "lies below /a, which is a file",
    ),
    "wrong type": (manifest("a", kernelArguments=[1]), "Expected `str`, got `int`"),
    "not an object": ("text\n", "the document is not an object"),
    "duplicate key": ("a: 1\na: 2\n", 'key "a" already set in map'),
    "bad selector": (
        _pool("p", {"matchExpressions": [{"key": "a", "operator": "Is"}]}),
        "is not a valid label selector operator",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_an_error_with_object_and_place(case: str, tmp_path: Path) -> None:
    body, message = BAD[case]
    code, findings = report(write(tmp_path, a=body))
    assert code == 1
    (finding,) = [item for item in findings if message in item["message"]]
    assert finding["level"] == "error"
    assert finding["subject"]
    assert finding.get("place") or case in ("5 MB", "duplicate key")


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    tmp_path.joinpath("a.yaml").write_bytes(b"a: \xff\n")
    code, (finding,) = report(tmp_path)
    assert code == 1
    assert "line 1, column 4: the text is not UTF-8" in finding["message"]


def test_an_alias_bomb(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    code, (finding,) = report(write(tmp_path, a="\n".join(levels)))
    assert code == 1
    assert "excessive aliasing" in finding["message"]


def test_a_broken_file_does_not_hide_what_the_others_say(tmp_path: Path) -> None:
    write(tmp_path, a="[", b=manifest("b", kernelType="x"), c=manifest("c", role=None))
    _, findings = report(tmp_path)
    assert len(findings) == 3


def test_standard_input() -> None:
    text = yaml.safe_dump(manifest("a", kernelType="x")).encode()
    done = mco("validate", "-f", "-", stdin=text)
    assert done.returncode == 1
    assert "standard input, line 1" in done.stdout
