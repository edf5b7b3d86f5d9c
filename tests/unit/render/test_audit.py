"""Everything wrong with a set of manifests, each with object, path, place and advice."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names
from mco.api.findings import Finding
from mco.api.manifests import read
from mco.api.yaml import load_documents
from mco.render.audit import audit
from tests.machineconfigs import API, core, file, files, manifest, units


def findings(*objects: dict[str, Any]) -> list[Finding]:
    documents = [
        document
        for index, item in enumerate(objects)
        for document in load_documents(msgspec.json.encode(item), f"{index}.json")
    ]
    return list(audit(read(documents)))


def brief(*objects: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(f.level, f.subject, f.path, f.message) for f in findings(*objects)]


def pool(name: str, selector: Any) -> dict[str, Any]:
    spec = {"machineConfigSelector": selector}
    return {**API, "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": spec}


def test_sound_manifests_have_no_findings() -> None:
    assert (
        findings(
            manifest("a", files(file("/a", "data:,a")), kernelArguments=["x"]),
            manifest("b", role="master"),
            manifest("c", role="edge"),
        )
        == []
    )


def test_everything_is_listed_not_only_the_first() -> None:
    bad = manifest(
        "a",
        files(file("etc/x", "data:,"), file("/proc/x", "data:,", mode=0o1777))
        | units({"name": "x.foo"}, {"name": "y.service"}, {"name": "y.service"})
        | core(sshAuthorizedKeys=["a\nb"]),
        kernelType="fast",
        extensions=["nope"],
        kernelArguments=["a\0b"],
    )
    found = findings(bad, manifest("b", kernelType="slow"))
    assert [(f.level, f.path, f.message) for f in found if f.subject == "MachineConfig/a"] == [
        ("error", "$.spec.kernelType", "kernelType=fast is invalid"),
        ("error", "$.spec.extensions", "invalid extensions found: [nope]"),
        ("error", "$.spec.kernelArguments.0", "kernel argument contains a NUL"),
        ("error", "$.spec.config.storage.files.0.path", "path not absolute"),
        (
            "warning",
            "$.spec.config.storage.files.1.mode",
            "setuid/setgid/sticky bits are not supported or functional in spec versions older than 3.6.0",
        ),
        ("error", "$.spec.config.systemd.units.0.name", "invalid systemd unit extension"),
        ("error", "$.spec.config.systemd.units.2", "duplicate entry defined"),
        ("error", "$.spec.config.storage.files.1.path", "/proc/x belongs to the kernel's process tree"),
        ("error", "$.spec.config.passwd.users.0.sshAuthorizedKeys.0", "SSH key contains a line break"),
        ("error", "$.spec.config.storage.files.1.mode", "invalid mode 01777 for /proc/x, cannot exceed 0777"),
    ]
    assert [f.message for f in found if f.subject == "MachineConfig/b"] == ["kernelType=slow is invalid"]
    assert all(f.place and (f.hint or f.level == "warning") for f in found)


def test_a_config_that_is_valid_ignition_is_held_against_the_node() -> None:
    found = brief(manifest("a", files(file("/proc/x", "data:,"), file("/b", "data:,", mode=0o1777))))
    assert (
        "error",
        "MachineConfig/a",
        "$.spec.config.storage.files.0.path",
        "/proc/x belongs to the kernel's process tree",
    ) in found
    assert (
        "error",
        "MachineConfig/a",
        "$.spec.config.storage.files.1.mode",
        "invalid mode 01777 for /b, cannot exceed 0777",
    ) in found


def test_an_unknown_version_names_the_supported_ones() -> None:
    ((level, subject, path, message),) = brief(manifest("a", {"version": "9.9.9"}))
    assert (level, subject, path) == ("error", "MachineConfig/a", "$.spec.config.ignition.version")
    assert "2.2,3.0,3.1,3.2,3.3,3.4,3.5" in message


def test_a_config_without_role_is_a_warning() -> None:
    (finding,) = findings(manifest("a", role=None))
    assert (finding.level, finding.path) == ("warning", "$.metadata.labels")
    assert names.ROLE_LABEL in finding.message
    assert finding.hint


def test_a_name_that_cannot_be_stored_is_a_warning() -> None:
    assert brief(manifest("A_b")) == [
        ("warning", "MachineConfig/A_b", "$.metadata.name", "no API server takes this name")
    ]


def test_what_a_node_refuses_does_not_hide_what_the_size_says() -> None:
    found = brief(manifest("a", files(file("/proc/x", "data:," + "a" * 1_600_000))))
    assert [(level, subject) for level, subject, _, _ in found] == [
        ("error", "MachineConfig/a"),
        ("error", "MachineConfigPool/worker"),
    ]


def test_a_pool_that_selects_nothing_everything_or_nonsense() -> None:
    nothing = pool("p", {"matchLabels": {"x": "y"}})
    everything = pool("q", {})
    nonsense = pool("r", {"matchExpressions": [{"key": "x", "operator": "Near"}]})
    found = findings(nothing, everything, nonsense, manifest("a"))
    assert [(f.level, f.subject, f.path) for f in found] == [
        ("error", "MachineConfigPool/p", "$.spec.machineConfigSelector"),
        ("warning", "MachineConfigPool/q", "$.spec.machineConfigSelector"),
        ("error", "MachineConfigPool/r", ""),
    ]
    assert found[0].message == "no MachineConfigs found matching selector x=y"


def test_a_role_that_no_written_pool_selects() -> None:
    selector = {"matchLabels": {names.ROLE_LABEL: "worker", "extra": "x"}}
    found = brief(pool("worker", selector), manifest("a"))
    assert ("warning", "MachineConfig/a", "$.metadata.labels", "no pool selects it") in found


def test_the_size_limit_holds_for_the_result() -> None:
    big = "data:," + "a" * 900_000
    found = brief(manifest("a", files(file("/a", big))), manifest("b", files(file("/b", big))))
    ((level, subject, _, message),) = found
    assert (level, subject) == ("error", "MachineConfigPool/worker")
    assert message.startswith("size validation failed: rendered MachineConfig rendered-worker-")


def test_what_is_wrong_only_together_names_those_who_did_it() -> None:
    (finding,) = findings(
        manifest("a", files(file("/x", "data:,"))),
        manifest("b", {"storage": {"directories": [{"path": "/x/y"}]}}),
        manifest("c", files(file("/z", "data:,"))),
    )
    assert finding.subject.startswith("MachineConfig/rendered-worker-")
    assert finding.path == "$.spec.config.storage.directories.0.path"
    assert finding.message == "/x/y lies below /x, which is a file"
    assert finding.hint.endswith("directory /x/y is set by b")


def test_a_file_without_source_fails_once_it_is_rendered() -> None:
    (finding,) = findings(manifest("a", files(file("/x", mode=420))))
    assert finding.message == "overwrite must be false if source is unspecified"
    assert finding.level == "error"


def test_an_invalid_input_is_not_reported_again_by_its_pool() -> None:
    assert len(findings(manifest("a", kernelType="x"), manifest("b"))) == 1


def test_a_pool_that_cannot_be_merged_is_an_error_of_its_own() -> None:
    found = brief(manifest("a", {}, extensions=["kernel-devel"]), manifest("b", kernelType="realtime"))
    ((level, subject, path, message),) = found
    assert (level, subject, path) == ("error", "MachineConfigPool/worker", "$.spec.extensions")
    assert message.endswith("is not supported with kernelType: realtime")


def test_findings_of_the_documents_come_first() -> None:
    found = findings(manifest("a"), manifest("a"), {"kind": "X"})
    assert [f.level for f in found] == ["error", "error"]
    assert "defined twice: 0.json, line 1 and 1.json, line 1" in found[0].message
