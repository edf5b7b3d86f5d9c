"""Real file systems of a given size, for what only a real one refuses: no space left, read-only.

They are mounted beside pytest's own folders: one that outlives a killed run would keep every later run from
removing them. What a killed run left is unmounted by the next one.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "mco-small-"


@contextlib.contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """An empty file system, `size` as mount(8) writes it; the folder is gone afterwards."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "small", str(folder)], check=True)
        yield folder
    finally:
        _unmount(folder)


def remount(folder: Path, how: str) -> None:
    """`ro` or `rw`."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that cannot be written although files beside it are open for writing."""
    subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Takes all the room that is left; the file to remove when there shall be some again."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size) == size:
                    pass
    return ballast


def _sweep() -> None:
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if not Path("/proc", left.name.removeprefix(PREFIX).partition("-")[0]).exists():
            _unmount(left)


def _unmount(folder: Path) -> None:
    """Whoever still holds it open, it is out of the way afterwards."""
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()
