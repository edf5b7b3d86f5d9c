"""The Python distributions that this program needs, from the environment that it runs in: for whoever puts
them where it shall run next (a machine's /opt/mco, a container's image)."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path


def required(*extra: str) -> list[str]:
    """Names of what the core of this program and `extra` need, without the program itself."""
    found: dict[str, None] = {}
    queue = [*_requirements("mco"), *extra]
    while queue:
        name = queue.pop()
        if name not in found:
            found[name] = None
            queue.extend(_requirements(name))
    return sorted(found)


def files(name: str) -> Iterator[tuple[str, Path]]:
    """A distribution's files as (path below site-packages, where it is), without programs and byte code."""
    for file in importlib.metadata.files(name) or ():
        source = Path(str(file.locate()))
        if ".." not in file.parts and "__pycache__" not in file.parts and source.is_file():
            yield str(file), source


def _requirements(name: str) -> Iterator[str]:
    for requirement in importlib.metadata.requires(name) or ():
        words, _, marker = requirement.partition(";")
        match = re.match(r"[A-Za-z0-9._-]+", words)
        if match and "extra ==" not in marker and _installed(match.group()):
            yield match.group().lower().replace("_", "-")


def _installed(name: str) -> bool:
    # A requirement whose marker excludes this Python is not installed, and not needed.
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
