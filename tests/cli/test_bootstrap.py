"""`mco bootstrap`: from a folder with manifests to the folder that the bootstrap config server reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mco.api import names
from mco.api.yaml import load_all
from tests.cli.test_render import mco, write
from tests.machineconfigs import API, file, files, manifest

WORDS = ["y", "0o17", "1e3", "1:30", "~", "a: b", "# x", " x", "two\nlines", "ä\u2028\u0085", "nosmt"]


def controller(**spec: Any) -> dict[str, Any]:
    return {**API, "kind": "ControllerConfig", "metadata": {"name": names.CONTROLLER_CONFIG}, "spec": spec}


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    return write(
        tmp_path / "in",
        a=manifest("00-master", files(file("/etc/motd", "data:,hi", mode=384)), role="master"),
        b=manifest("00-worker", kernelArguments=["nosmt"]),
        c=controller(baseOSContainerImage="quay.io/os@sha256:1", additionalTrustBundle=None),
    )


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_names_are_those_of_a_render_and_the_files_the_originals(manifests: Path, tmp_path: Path) -> None:
    out = tmp_path / "below" / "out"
    done = mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", out)
    assert (done.returncode, done.stderr.count("error")) == (0, 0)
    rendered = mco("render", "-f", manifests, "--pool", "master", "--pool", "worker", "-o", "name")
    assert done.stdout == rendered.stdout
    assert written(out) == {
        *(f"machine-configs/{name}.yaml" for name in rendered.stdout.split()),
        "machine-pools/master.yaml",
        "machine-pools/worker.yaml",
        "controller-config/machine-config-controller.yaml",
    }
    (config,) = load_all((out / "controller-config/machine-config-controller.yaml").read_bytes(), "cc")
    assert config == controller(baseOSContainerImage="quay.io/os@sha256:1", additionalTrustBundle=None)


def test_only_the_owner_reads_what_may_hold_secrets(manifests: Path, tmp_path: Path) -> None:
    mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", tmp_path / "out")
    for path in (tmp_path / "out").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def test_words_are_read_back_as_they_were_meant(manifests: Path, tmp_path: Path) -> None:
    """By a reader that takes more words for numbers and booleans than the one who writes."""
    write(manifests, d=yaml.safe_dump(manifest("50-words", kernelArguments=WORDS), default_style='"'))
    mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", tmp_path / "out")
    (path,) = (tmp_path / "out").glob("machine-configs/rendered-worker-*.yaml")
    (body,) = load_all(path.read_bytes(), str(path))
    assert isinstance(body, dict)
    assert body["spec"]["kernelArguments"] == ["nosmt", *WORDS]


def test_every_file_counts_whatever_it_is_called(manifests: Path, tmp_path: Path) -> None:
    (manifests / "a.yaml").rename(manifests / "secret.conf")
    (manifests / "folder").mkdir()
    write(manifests / "folder", broken="{")
    done = mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", tmp_path / "out")
    assert done.returncode == 0
    assert "rendered-master-" in done.stdout


def test_it_can_be_repeated(manifests: Path, tmp_path: Path) -> None:
    runs = [mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", tmp_path / "out") for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    assert not [name for name in written(tmp_path / "out") if Path(name).name.startswith(".")]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("c", "{}", "apiVersion and kind not set"),
        ("c", "", "no controllerconfig found in dir"),
        ("d", "a: [", "d.yaml"),
        ("d", "\xff", "not UTF-8"),
        ("d", yaml.safe_dump(manifest("00-worker")), "is defined twice"),
        ("d", yaml.safe_dump(manifest("50-bad", files(file("relative")))), "MachineConfig/50-bad"),
        (
            "d",
            yaml.safe_dump({**API, "kind": "MachineConfigPool", "metadata": {"name": "edge"}}),
            "pool edge",
        ),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    manifests: Path, tmp_path: Path, name: str, text: str, said: str
) -> None:
    (manifests / f"{name}.yaml").write_bytes(text.encode("latin-1"))
    done = mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", tmp_path / "out")
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_destination_that_is_a_file_or_below_one(manifests: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    below = mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", tmp_path / "taken" / "out")
    assert (below.returncode, "Not a directory" in below.stderr) == (1, True)
    taken = mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", tmp_path / "taken")
    assert taken.returncode == 2


def test_what_is_ignored_is_said(manifests: Path, tmp_path: Path) -> None:
    write(manifests, d={**API, "kind": "KubeletConfig", "metadata": {"name": "big"}})
    done = mco("bootstrap", "--manifest-dir", manifests, "--dest-dir", tmp_path / "out")
    assert done.returncode == 0
    assert "Warning: KubeletConfig/big: no MachineConfig is made of it" in done.stderr
