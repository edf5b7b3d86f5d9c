"""The folder of images that nodes import: archives in files that are called after their content."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from mco.lab.kubernetes import pause
from mco.payload import archive
from mco.payload.image import write_image

Writer = Callable[[Path], None]


def fill(folder: Path) -> None:
    """Writes the pause image and this program's, and removes those of former versions."""
    folder.mkdir(exist_ok=True)
    writers: Mapping[str, Writer] = {"pause": _write_pause, "mco": write_image}
    kept = {_put(folder, name, write) for name, write in writers.items()}
    for path in folder.glob("*.tar"):
        if path.name not in kept:
            path.unlink()


def _put(folder: Path, name: str, write: Writer) -> str:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        written = Path(scratch) / f"{name}.tar"
        write(written)
        with written.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
        final = folder / f"{name}-{digest}.tar"
        written.rename(final)
    return final.name


def _write_pause(target: Path) -> None:
    program = target.with_name("pause")
    program.write_bytes(pause.program())
    program.chmod(0o755)
    os.utime(program, (0, 0))  # the same file each time
    contents = archive.Contents()
    contents.file("pause", program)
    archive.write(target, pause.NAME, [contents], entrypoint="/pause", user="65535:65535")
