"""`/opt/mco` of the machines: the program, its packages and a launcher, mounted read-only.

Two folders in the cache, so that an edit of the program does not copy its packages again: `site-KEY` holds
the packages, `program-KEY` the launcher and this very `mco` package. Both are compiled by the machines' own
Python, whatever the host runs: a machine cannot write byte code into a read-only folder and would compile
at each start.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

import mco
from mco.base.errors import Unsupported
from mco.lab import paths
from mco.lab.commands import run
from mco.lab.image import open_to_all
from mco.lab.locks import Lock
from mco.runtime import distributions, version

MACHINE_PYTHON = (3, 11)

# No site: neither the machine's own packages nor a user's may shadow ours.
_LAUNCHER = """\
#!/usr/bin/python3 -IS
import sys

sys.path[:0] = ["/opt/mco/lib", "/opt/mco/site-packages"]

from mco.cli.main import main

main()
"""

_COMPILE = """\
mount --bind "$1" "$2/mnt"
exec chroot "$2" /usr/bin/python3 -IS -m compileall -q -j 0 -s /mnt -p "$3" /mnt
"""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine mounts: `program` on /opt/mco, `site` on /opt/mco/site-packages."""

    program: Path
    site: Path


def build(base: Path) -> Program:
    """Both folders, made if they are not there; `base` is the base root, whose Python compiles them. Raises
    Unsupported if the packages for the machines' Python cannot be found."""
    site = _build_once("site", site_key(), lambda folder: _copy_site(folder), base, "/opt/mco/site-packages")
    program = _build_once("program", _program_key(), _write_program, base, "/opt/mco")
    return Program(program=program, site=site)


def _build_once(kind: str, key: str, write: Callable[[Path], None], base: Path, inside: str) -> Path:
    folder = paths.cache_folder() / f"{kind}-{key}"
    if folder.is_dir():
        return folder
    with Lock(folder.with_suffix(".lock"), removes=True):
        if not folder.is_dir():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            write(partial)
            _compile(partial, base, inside)
            partial.rename(folder)
    return folder


def _compile(folder: Path, base: Path, inside: str) -> None:
    shell = ["sh", "-euc", _COMPILE, "sh", str(folder), str(base), inside]
    run(["unshare", "--mount", "--propagation", "private", *shell])


def _write_program(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    launcher = folder / "bin" / "mco"
    launcher.write_text(_LAUNCHER)
    (folder / "site-packages").mkdir()
    shutil.copytree(_package(), folder / "lib" / "mco", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "lib" / "mco" / version.COMMIT_FILE).write_text(version.commit())
    open_to_all(folder)
    launcher.chmod(0o755)


def _program_key() -> str:
    digest = hashlib.sha256(_LAUNCHER.encode() + version.commit().encode())
    for path in sorted(_package().rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(_package())}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _package() -> Path:
    return Path(mco.__file__).parent


def _copy_site(folder: Path) -> None:
    collected = _collected()
    if collected is not None:
        shutil.copytree(collected, folder, ignore=shutil.ignore_patterns("__pycache__", "bin"))
        return
    folder.mkdir(parents=True)
    for name in _required():
        for path, source in distributions.files(name):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def site_key() -> str:
    collected = _collected()
    if collected is not None:
        return hashlib.sha256((collected.parent / "installed").read_bytes()).hexdigest()[:12]
    versions = sorted(f"{name}=={importlib.metadata.version(name)}" for name in _required())
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:12]


def _collected() -> Path | None:
    """What `scripts/setup` collected for the machines' Python, in a checkout."""
    machine = _package().parents[1] / "build" / "machine"
    return machine / "site-packages" if (machine / "installed").is_file() else None


def _required() -> list[str]:
    """The distributions that the core of this program needs, from the environment it is installed in: those
    of a wheel. They only work in a machine if this Python is the machine's."""
    if sys.version_info[:2] != MACHINE_PYTHON:
        raise Unsupported(
            f"the machines run Python 3.11 and this is {sys.version_info[0]}.{sys.version_info[1]}",
            hint="run mco with Python 3.11, or from a checkout after scripts/setup",
        )
    return distributions.required()
