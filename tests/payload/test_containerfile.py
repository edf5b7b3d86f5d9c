"""`Containerfile` makes what `mco.payload.image` assembles; tested where a builder is: no setup installs one.

No registry is asked: the base image is this very machine, whose /usr the builder mounts, so that the layers
hold nothing but what the file adds. pip is configured inside as it is here.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.payload.image import USER
from mco.runtime import distributions, version

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
_PYTHON = "import ensurepip, sys; assert sys.version_info >= (3, 11)"
_MOUNTED = ("/usr", "/etc/alternatives", "/etc/ssl", "/etc/pki")

pytestmark = pytest.mark.timeout(900)


def builder() -> str:
    """Skips where the image cannot be built."""
    found = shutil.which("buildah") or shutil.which("podman")
    if found is None:
        pytest.skip("neither buildah nor podman is installed")
    if os.geteuid() != 0 or not Path("/bin").is_symlink():
        pytest.skip("building from this machine needs root, and all programs in /usr")
    if subprocess.run(["/usr/bin/python3", "-c", _PYTHON], capture_output=True, check=False).returncode != 0:
        pytest.skip("/usr/bin/python3 is older than 3.11, or has no venv")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("build")
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def archive(folder: Path) -> Path:
    program = [builder(), "--root", str(folder / "store"), "--runroot", str(folder / "run")]
    program += ["--storage-driver", "vfs"]
    base = folder / "base"
    _lay_out(base)
    _build(program, str(base), "localhost/base")
    arguments = {"BASE": "localhost/base", "COMMIT": COMMIT}
    flags = [f"--build-arg={name}={value}" for name, value in arguments.items()]
    _build(program, str(ROOT), "localhost/mco", *flags, *_as_here(folder / "pip.conf"))
    target = folder / "mco.tar"
    _run([*program, "push", "--quiet", "localhost/mco", f"oci-archive:{target}"])
    return target


def _lay_out(base: Path) -> None:
    """A root without programs."""
    for name in ("etc", "usr", "tmp", "opt"):
        (base / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (base / name).symlink_to(f"usr/{name}")
    (base / "Containerfile").write_text("FROM scratch\nCOPY . /\n")


def _as_here(settings: Path) -> list[str]:
    """Mounts: programs, and pip's configuration with the files that it names."""
    listed = _run([sys.executable, "-m", "pip", "config", "list"])
    values = {
        key: str(ast.literal_eval(quoted))
        for key, quoted in re.findall(r"^\S+?\.([a-z-]+)=('.*')$", listed, re.MULTILINE)
    }
    lines = [f"{key} = {value.strip()}".replace("\n", "\n    ") for key, value in values.items()]
    settings.write_text("\n".join(["[global]", *lines, ""]))
    mounted = [*_MOUNTED, *(word for value in values.values() for word in value.split() if word[0] == "/")]
    found = {path for path in mounted if Path(path).exists()}
    return [
        f"--volume={settings}:/etc/pip.conf:ro",
        *(f"--volume={path}:{path}:ro" for path in sorted(found)),
    ]


def _build(program: list[str], context: str, name: str, *flags: str) -> None:
    _run([*program, "build", "--isolation=chroot", *flags, "--tag", name, context])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def _blob(tar: tarfile.TarFile, digest: str) -> Any:
    file = tar.extractfile(f"blobs/{digest.replace(':', '/')}")
    assert file is not None
    return file


@pytest.fixture(scope="module")
def manifest(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as tar:
        index = tar.extractfile("index.json")
        assert index is not None
        (only,) = msgspec.json.decode(index.read())["manifests"]
        found: dict[str, Any] = msgspec.json.decode(_blob(tar, only["digest"]).read())
    return found


@pytest.fixture(scope="module")
def root(archive: Path, manifest: dict[str, Any], folder: Path) -> Path:
    """What a container has below /, but for what its base has."""
    target = folder / "root"
    with tarfile.open(archive) as tar:
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=_blob(tar, layer["digest"])) as opened:
                opened.extractall(target, filter="fully_trusted")
    return target


def test_it_starts_as_the_assembled_image_does(archive: Path, manifest: dict[str, Any]) -> None:
    with tarfile.open(archive) as tar:
        config = msgspec.json.decode(_blob(tar, manifest["config"]["digest"]).read())["config"]
    assert config["User"] == USER
    (program,) = config["Entrypoint"]
    assert Path(program).name == "mco"
    assert f"PATH={Path(program).parent}:" in "\n".join(config["Env"])


def test_it_has_the_same_packages_and_no_more(root: Path) -> None:
    (packages,) = (root / "opt/mco/lib").glob("python3.*/site-packages")
    found = {_name(path) for path in packages.glob("*.dist-info")}
    assert found == {"mco", *distributions.required("httptools", "uvloop")}
    commit = packages / "mco" / version.COMMIT_FILE
    assert commit.read_text().strip() == COMMIT
    assert not list((root / "opt/mco/bin").glob("pip*"))


def _name(path: Path) -> str:
    return path.name.partition("-")[0].lower().replace("_", "-")


@pytest.mark.parametrize(
    "argv", [["version"], ["operator", "--help"], ["controller", "--help"], ["daemon", "--help"]]
)
def test_its_programs_run(root: Path, argv: list[str]) -> None:
    """As the user of the image, who owns nothing there."""
    script = 'mount --rbind /usr "$1/usr"; cd /; exec chroot --userspec=65534:65534 "$@"'
    inside = ["sh", "-euc", script, "sh", str(root), "/opt/mco/bin/mco", *argv]
    shown = _run(["unshare", "--mount", "--propagation", "private", *inside])
    assert shown.startswith(f"mco {version.RAW} ({COMMIT}" if argv == ["version"] else "Usage: mco ")
