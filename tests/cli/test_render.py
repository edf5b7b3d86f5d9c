"""`mco render`: from files to a name, without a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.machineconfigs import CONTROLLER_CONFIG, as_yaml, machine_config
from tests.machineconfigs import API, file, files, manifest

PROGRAM = Path(sys.executable).with_name("mco")


def mco(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, check=False)
    return subprocess.CompletedProcess(
        done.args, done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode()
    )


def write(folder: Path, **objects: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, item in objects.items():
        folder.joinpath(f"{name}.yaml").write_text(item if isinstance(item, str) else yaml.safe_dump(item))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path / "in",
        a=manifest("50-motd", files(file("/etc/motd", "data:,hi", mode=420)), kernelArguments=["nosmt"]),
        b=manifest("60-edge", files(file("/etc/motd", "data:,edge")), role="edge"),
    )


def test_the_object_can_be_applied_as_it_is(folder: Path) -> None:
    done = mco("render", "-f", folder, "--pool", "worker")
    assert (done.returncode, done.stderr) == (0, "")
    made = yaml.safe_load(done.stdout)
    assert made["kind"] == "MachineConfig"
    assert made["spec"]["config"]["storage"]["files"][0]["contents"] == {"source": "data:,hi"}
    as_json = mco("render", "-f", folder, "--pool", "worker", "-o", "json")
    assert json.loads(as_json.stdout) == made


def test_the_name_alone(folder: Path) -> None:
    done = mco("render", "-f", folder, "--pool", "worker", "--pool", "edge", "-o", "name")
    worker, edge = done.stdout.splitlines()
    assert worker.startswith("rendered-worker-")
    assert edge.startswith("rendered-edge-")
    assert worker.rpartition("-")[2] != edge.rpartition("-")[2]


def test_several_pools_make_several_documents_or_one_list(folder: Path) -> None:
    pools = ("--pool", "worker", "--pool", "edge")
    documents = list(yaml.safe_load_all(mco("render", "-f", folder, *pools).stdout))
    whole = json.loads(mco("render", "-f", folder, *pools, "-o", "json").stdout)
    assert (whole["kind"], whole["items"]) == ("List", documents)


def test_provenance_is_a_table(folder: Path) -> None:
    done = mco("render", "-f", folder, "--pool", "edge", "-o", "provenance")
    title, heading, *rows = done.stdout.splitlines()
    assert title.startswith("# rendered-edge-")
    assert heading.split() == ["KIND", "NAME", "SET", "BY", "SHADOWED"]
    assert [row.split() for row in rows] == [
        ["file", "/etc/motd", "50-motd,", "60-edge", "-"],
        ["kernelArguments", "nosmt", "50-motd", "-"],
    ]


def test_the_golden_name_of_a_hundred_configs(tmp_path: Path) -> None:
    text = b"---\n".join(as_yaml(machine_config(number)) for number in range(100))
    images = write(tmp_path, cc=CONTROLLER_CONFIG) / "cc.yaml"
    done = mco("render", "-f", "-", "-f", images, "--pool", "worker", "-o", "name", stdin=text)
    assert done.stdout == "rendered-worker-4ad281159e136f58fc327949eb6cb93a\n"
    changed = text.replace(as_yaml(machine_config(50)), as_yaml(machine_config(50, changed=True)))
    done = mco("render", "-f", "-", "-f", images, "--pool", "worker", "-o", "name", stdin=changed)
    assert done.stdout == "rendered-worker-76729af421011fb0dcb810cdc65e66eb\n"


def test_written_pools_and_images_are_used(tmp_path: Path) -> None:
    pool = {
        **API,
        "kind": "MachineConfigPool",
        "metadata": {"name": "worker", "uid": "u-1"},
        "spec": {"machineConfigSelector": {"matchLabels": {"own": "yes"}}},
    }
    images = {**API, "kind": "ControllerConfig", "metadata": {"name": "x"}}
    images["spec"] = {"baseOSContainerImage": "base"}
    labelled = manifest("a", kernelArguments=["a"])
    labelled["metadata"]["labels"] = {"own": "yes"}
    items = {"apiVersion": "v1", "kind": "List", "items": [pool, images, labelled, manifest("b")]}
    done = mco("render", "-f", write(tmp_path, all=items), "--pool", "worker", "-o", "json")
    made = json.loads(done.stdout)
    assert made["spec"]["kernelArguments"] == ["a"]
    assert made["spec"]["osImageURL"] == "base"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-1"


class TestPaths:
    def test_folders_are_read_one_level_deep_unless_told_otherwise(self, tmp_path: Path) -> None:
        write(tmp_path, a=manifest("a"))
        write(tmp_path / "below", b=manifest("b", fips=True))
        tmp_path.joinpath("notes.txt").write_text("{not yaml")
        flat = mco("render", "-f", tmp_path, "--pool", "worker", "-o", "provenance")
        deep = mco("render", "-R", "-f", tmp_path, "--pool", "worker", "-o", "provenance")
        assert "fips" not in flat.stdout
        assert "fips" in deep.stdout

    def test_a_file_given_twice_is_read_once(self, folder: Path) -> None:
        done = mco("render", "-f", folder, "-f", folder / "a.yaml", "--pool", "worker", "-o", "name")
        assert done.returncode == 0

    def test_a_missing_path(self) -> None:
        done = mco("render", "-f", "/nowhere/x.yaml", "--pool", "worker")
        assert (done.returncode, done.stdout) == (1, "")
        assert 'the path "/nowhere/x.yaml" does not exist' in done.stderr

    def test_a_folder_without_manifests(self, tmp_path: Path) -> None:
        done = mco("render", "-f", tmp_path, "--pool", "worker")
        assert done.returncode == 1
        assert "recognized file extensions are [.json .yaml .yml]" in done.stderr

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        path = tmp_path / "loop.yaml"
        path.symlink_to(path)
        done = mco("render", "-f", path, "--pool", "worker")
        assert done.returncode == 1
        assert str(path) in done.stderr


class TestErrors:
    def test_text_that_does_not_parse_names_file_and_line(self, folder: Path) -> None:
        write(folder, c="a: b\nc: d: e\n")
        done = mco("render", "-f", folder, "--pool", "worker")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"error parsing {folder}/c.yaml: line 2, column 5: " in done.stderr
        assert "hint: " in done.stderr

    def test_the_same_name_twice_names_both_places(self, folder: Path) -> None:
        write(folder, c=manifest("50-motd"))
        done = mco("render", "-f", folder, "--pool", "worker")
        assert done.returncode == 1
        assert f"{folder}/a.yaml, line 1 and {folder}/c.yaml, line 1" in done.stderr

    def test_a_pool_that_selects_nothing(self, folder: Path) -> None:
        done = mco("render", "-f", folder, "--pool", "master")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(
            "error: Failed to render configuration for pool master: no MachineConfigs found matching "
            "selector machineconfiguration.openshift.io/role=master\n"
        )

    def test_an_invalid_input_names_object_path_and_remedy(self, folder: Path) -> None:
        write(folder, c=manifest("70-bad", kernelType="fast"))
        done = mco("render", "-f", folder, "--pool", "worker")
        assert done.returncode == 1
        assert done.stderr == (
            "error: Failed to render configuration for pool worker: could not generate rendered "
            "MachineConfig: kernelType=fast is invalid\n"
            "  at: MachineConfig/70-bad $.spec.kernelType\n"
            "  hint: use one of default, realtime, 64k-pages\n"
        )

    def test_one_failing_pool_does_not_hide_the_others(self, folder: Path) -> None:
        done = mco("render", "-f", folder, "--pool", "master", "--pool", "worker", "-o", "name")
        assert done.returncode == 1
        assert done.stdout.startswith("rendered-worker-")
        assert "pool master" in done.stderr

    def test_a_result_that_is_too_large_is_printed_all_the_same(self, tmp_path: Path) -> None:
        big = manifest("a", files(file("/a", "data:," + "a" * 1_600_000)))
        done = mco("render", "-f", write(tmp_path, a=big), "--pool", "worker", "-o", "name")
        assert done.returncode == 1
        assert done.stdout.startswith("rendered-worker-")
        assert "error: size validation failed: rendered MachineConfig rendered-worker-" in done.stderr

    def test_unknown_fields_are_warned_about(self, tmp_path: Path) -> None:
        folder = write(tmp_path, a=manifest("a", kernelArgument=["x"]))
        done = mco("render", "-f", folder, "--pool", "worker", "-o", "name")
        assert done.returncode == 0
        assert done.stderr == 'Warning: MachineConfig/a: unknown field "spec.kernelArgument"\n'

    def test_wrong_usage_is_another_exit_code(self) -> None:
        assert mco("render", "--pool", "worker").returncode == 2
