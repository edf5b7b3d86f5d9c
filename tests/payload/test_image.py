"""The image that is assembled here without a registry: an archive whose parts fit together, and whose program
runs with nothing of this machine around it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.payload.image import NAME, write_image
from mco.runtime import version


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("image") / "mco.tar"
    write_image(target)
    assert [path.name for path in target.parent.iterdir()] == ["mco.tar"]
    return target


def content(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    assert file is not None
    return file.read()


def blob(tar: tarfile.TarFile, descriptor: dict[str, Any]) -> bytes:
    algorithm, _, digest = descriptor["digest"].partition(":")
    data = content(tar, f"blobs/{algorithm}/{digest}")
    assert hashlib.new(algorithm, data).hexdigest() == digest
    assert len(data) == descriptor["size"]
    return data


def test_both_indexes_lead_to_the_same_layers(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        assert msgspec.json.decode(content(tar, "oci-layout")) == {"imageLayoutVersion": "1.0.0"}
        (named,) = msgspec.json.decode(content(tar, "index.json"))["manifests"]
        assert named["annotations"]["io.containerd.image.name"] == NAME == f"localhost/mco:{version.RAW}"
        manifest = msgspec.json.decode(blob(tar, named))
        config = msgspec.json.decode(blob(tar, manifest["config"]))
        layers = [layer["digest"] for layer in manifest["layers"]]
        assert config["rootfs"]["diff_ids"] == layers
        for layer in manifest["layers"]:
            blob(tar, layer)
        (docker,) = msgspec.json.decode(content(tar, "manifest.json"))
    assert docker["RepoTags"] == [NAME]
    assert docker["Layers"] == [f"blobs/sha256/{layer.removeprefix('sha256:')}" for layer in layers]
    assert config["config"]["Entrypoint"] == ["/usr/local/bin/mco"]
    assert config["config"]["User"] == "65534:65534"


@pytest.fixture(scope="module")
def root(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a container of the image has below /."""
    folder = tmp_path_factory.mktemp("root")
    folder.chmod(0o755)
    with tarfile.open(archive) as tar:
        (docker,) = msgspec.json.decode(content(tar, "manifest.json"))
        for name in docker["Layers"]:
            file = tar.extractfile(name)
            assert file is not None
            with tarfile.open(fileobj=file) as layer:
                assert {(member.uid, member.gid) for member in layer} == {(0, 0)}
                assert not [member.name for member in layer if member.mode & 0o022 and member.name != "tmp"]
                layer.extractall(folder, filter="fully_trusted")
    return folder


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
@pytest.mark.parametrize(
    "argv",
    [
        ("mco", "version"),
        *(("mco", *words, "--help") for words in (["operator"], ["controller"], ["daemon", "start"])),
        (
            "python3",
            "-ISc",
            "import sys; sys.path.append('/opt/mco/site-packages'); import uvloop, httptools",
        ),
        ("nsenter", "--version"),
    ],
    ids=lambda argv: " ".join(argv[:2]),
)
def test_programs_run_in_it(root: Path, argv: tuple[str, ...]) -> None:
    """As a user who owns nothing there."""
    command = ["chroot", "--userspec=65534:65534", str(root), *argv]
    path = {"PATH": "/usr/local/bin:/usr/bin:/usr/sbin:/sbin"}
    done = subprocess.run(command, capture_output=True, text=True, env=path, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    if argv == ("mco", "version"):
        assert done.stdout.startswith(f"mco {version.RAW} ({version.commit()}")


def test_what_the_embedded_server_needs_stays_out(root: Path) -> None:
    packages = {path.name for path in (root / "opt/mco/site-packages").iterdir()}
    assert {"msgspec", "aiohttp", "uvloop"} <= packages
    assert not {"cel_expr_python", "pytest", "starlette"} & packages
