"""The container image as a file, assembled from the environment that this program runs in: no registry, no
builder.

The image has this very Python with its libraries, the packages, the program, and `nsenter`, with which the
daemon reaches its machine; no shell and no packages of a distribution. `Containerfile` makes the same from a
base image. The archive is an OCI layout that `ctr images import` and `docker load` read.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import mco
from mco.base.errors import Unsupported
from mco.host.commands import Commands
from mco.payload.archive import Contents, write
from mco.runtime import distributions, version

NAME = f"localhost/mco:{version.RAW}"

# What the config server adds to the core; the rest of the `server` packages is for the embedded API server.
_EXTRA = ("httptools", "uvloop")
_PYTHON = "usr/local/bin/python3"
# Of the standard library: a third of the whole that no server imports.
_LEFT_OUT = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages", "config-*")
_LEFT_OUT_FILES = ("_tkinter*.so",)
_LAUNCHER = f"""\
#!/{_PYTHON} -IS
import sys

sys.path[:0] = ["/opt/mco/lib", "/opt/mco/site-packages"]

from mco.cli.main import main

main()
"""
# The user that every component but the daemon runs as (spec/operator.md 1.15).
USER = "65534:65534"
_ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def write_image(target: Path, name: str = NAME) -> None:
    """Writes the archive to `target`, whole or not at all; some 120 MB, in about two seconds. Raises
    Unsupported where something that the image needs is not installed here."""
    with tempfile.TemporaryDirectory(prefix="mco-image-", dir=target.parent) as scratch:
        archive = Path(scratch) / "image.tar"
        layers = (_base(), _program())
        write(archive, name, layers, entrypoint="/usr/local/bin/mco", user=USER)
        archive.rename(target)


def _base() -> Contents:
    """What changes when Python or a package does."""
    contents = Contents()
    contents.folder("tmp", mode=0o1777)
    for name, text in _ACCOUNTS.items():
        contents.text(name, text)
    nsenter = _found("nsenter")
    contents.file("usr/bin/nsenter", nsenter)
    python = Path(os.path.realpath(sys.executable))
    contents.file(_PYTHON, python)
    for path, source in (*_standard_library(), *_packages()):
        contents.file(path, source)
    binaries = [nsenter, python, *(source for _, source in contents.sources() if ".so" in source.suffixes)]
    for path, source in _libraries(binaries, known=contents):
        contents.file(path, source)
    return contents


def _program() -> Contents:
    contents = Contents()
    contents.text("usr/local/bin/mco", _LAUNCHER, mode=0o755)
    package = Path(mco.__file__).parent
    for path, source in _tree(package, "opt/mco/lib/mco"):
        contents.file(path, source)
    contents.text(f"opt/mco/lib/mco/{version.COMMIT_FILE}", version.commit())
    return contents


def _standard_library() -> Iterator[tuple[str, Path]]:
    library = Path(os.__file__).parent
    for path, source in _tree(library, f"usr/local/{sys.platlibdir}/{library.name}", without=_LEFT_OUT):
        if not _named(source.name, _LEFT_OUT_FILES):
            yield path, source


def _packages() -> Iterator[tuple[str, Path]]:
    for name in distributions.required(*_EXTRA):
        for path, source in distributions.files(name):
            yield f"opt/mco/site-packages/{path}", source
            if (compiled := _compiled(source)).is_file():
                yield f"opt/mco/site-packages/{Path(path).parent}/__pycache__/{compiled.name}", compiled


def _tree(folder: Path, prefix: str, without: Sequence[str] = ()) -> Iterator[tuple[str, Path]]:
    """Files below a folder, with the byte code of this Python and of no other."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _named(name, without))
        for name in sorted(names):
            source = Path(parent, name)
            if source.parent.name == "__pycache__" and not name.endswith(f".{_tag()}.pyc"):
                continue
            yield f"{prefix}/{source.relative_to(folder)}", source


def _named(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _compiled(source: Path) -> Path:
    return source.parent / "__pycache__" / f"{source.stem}.{_tag()}.pyc"


def _tag() -> str:
    return str(sys.implementation.cache_tag)


def _libraries(binaries: Iterable[Path], *, known: Contents) -> Iterator[tuple[str, Path]]:
    """The shared libraries that binaries load, all of them where the C library is: there the loader looks
    without being told. The loader itself stands where the binaries name it."""
    listed = Commands().attempt(_found("ldd").as_posix(), *map(str, binaries)).stdout
    inside = {os.path.realpath(source) for _, source in known.sources()}
    found = {name: Path(path) for name, path in re.findall(r"^\s+(\S+) => (/\S+) \(", listed, re.MULTILINE)}
    for loader in sorted(set(re.findall(r"^\s+(/\S+/ld-\S+) \(", listed, re.MULTILINE))):
        yield loader.lstrip("/"), Path(loader)
    c_library = next((path for name, path in found.items() if name.startswith("libc.")), None)
    if c_library is None:
        raise Unsupported("this Python does not use a shared C library", path=sys.executable)
    for name, path in sorted(found.items()):
        if os.path.realpath(path) not in inside:
            yield f"{c_library.parent}/{name}".lstrip("/"), path


def _found(program: str) -> Path:
    path = shutil.which(program)
    if path is None:
        raise Unsupported(f"{program} is not installed", hint="it belongs to every Linux distribution")
    return Path(os.path.realpath(path))
