"""The base root: a Debian 12 with systemd, built once by mmdebstrap and shared by all machines as the lowest
layer of their disks.

It holds packages only, so that its key, the hash of the recipe, changes when the packages do. What the
project puts into a machine's image is a layer of its own (`image.py`), made in milliseconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from mco.base.errors import HostError
from mco.lab import paths
from mco.lab.commands import CLEAN_ENVIRONMENT, UMASK, failure, in_thread, run
from mco.lab.locks import wait_for

Progress = Callable[[str], None]

# Raise it when the steps below change and the packages do not.
_REVISION = 2

# Everything that the build starts and mounts ends with it, and it ends with this process.
_CONTAINED = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"),
)


PACKAGES = (
    "ca-certificates",
    "dbus",
    "iproute2",
    "openssh-server",
    "python3",
    "systemd",
    "systemd-sysv",
)


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """What the base root is made of; `mirror` is empty for mmdebstrap's own choice."""

    suite: str = "bookworm"
    packages: tuple[str, ...] = PACKAGES
    # Nobody reads manuals in a machine: a quarter of the size.
    excluded: tuple[str, ...] = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")
    mirror: str = ""
    revision: int = _REVISION

    @property
    def key(self) -> str:
        recipe = msgspec.structs.replace(self, mirror="")
        return hashlib.sha256(msgspec.json.encode(recipe)).hexdigest()[:12]


def recipe_from_environment(packages: Sequence[str] = ()) -> Recipe:
    """Of the ordinary root with `packages` besides. `MCO_DEBIAN_MIRROR` names another mirror; the result is
    the same."""
    return Recipe(
        packages=tuple(sorted({*PACKAGES, *packages})), mirror=os.environ.get("MCO_DEBIAN_MIRROR", "")
    )


async def build(recipe: Recipe, progress: Progress) -> Path:
    """The folder of the base root, built if it is not there (about 50 s). Runs side by side wait for the
    one that builds; what a killed run left half-built is thrown away. Raises HostError."""
    folder = paths.cache_folder() / f"base-{recipe.key}"
    if folder.is_dir():
        return folder
    with await wait_for(folder.with_suffix(".lock"), removes=True):
        if not folder.is_dir():
            await _build_into(folder, recipe, progress)
    return folder


async def _build_into(folder: Path, recipe: Recipe, progress: Progress) -> None:
    partial = folder.with_suffix(".partial")
    await in_thread(shutil.rmtree, partial, ignore_errors=True)
    progress(f"building the base root: Debian {recipe.suite}, once, about a minute")
    try:
        await _mmdebstrap(_command(recipe, partial), progress)
        _finish(partial)
        partial.rename(folder)
    except BaseException:
        # Cancelled or failed: hundreds of megabytes that nobody would look for.
        shutil.rmtree(partial, ignore_errors=True)
        raise
    progress("the base root is ready")


def _command(recipe: Recipe, folder: Path) -> list[str]:
    return [
        *_CONTAINED,
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        '--aptopt=Acquire::Languages "none"',
        *(f"--dpkgopt=path-exclude={path}" for path in recipe.excluded),
        f"--include={','.join(recipe.packages)}",
        recipe.suite,
        str(folder),
        *([recipe.mirror] if recipe.mirror else []),
    ]


async def _mmdebstrap(argv: Sequence[str], progress: Progress) -> None:
    # The caller's environment: a proxy for downloads is set there.
    environment = {**os.environ, **CLEAN_ENVIRONMENT}
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
        umask=UMASK,
    )
    last: list[str] = []
    try:
        assert process.stderr is not None
        async for raw in process.stderr:
            line = raw.decode(errors="replace").strip()
            if line.startswith("I: "):
                progress(f"base root: {line[3:]}")
            last = [*last[-20:], line]
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        errors = [line for line in last if line.startswith("E: ")] or last
        raise failure(argv, process.returncode or 1, "\n".join(errors[:1]).encode())


def _finish(root: Path) -> None:
    """What no package decides: identities that every machine must have for itself."""
    # Empty would mean "not the first boot", and presets written by Ignition would not be applied.
    (root / "etc/machine-id").write_text("uninitialized\n")
    (root / "etc/hostname").unlink(missing_ok=True)  # mmdebstrap copies the host's
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    # An asterisk is no password; the usual exclamation mark locks the account for sshd too.
    user = ("--create-home", "--shell=/bin/bash", "--user-group", "--password=*", "core")
    run(["chroot", str(root), "useradd", *user])
    _disable_everything(root / "etc/systemd/system")


def _disable_everything(folder: Path) -> None:
    """Removes what Debian's packages enabled: the presets of the image decide alone, at first boot."""
    if not folder.is_dir():
        raise HostError("the base root has no systemd", path=str(folder))
    for wants in folder.glob("*.wants"):
        shutil.rmtree(wants)
