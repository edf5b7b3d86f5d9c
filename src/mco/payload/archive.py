"""Files as a container image: layers, configuration and manifest in an OCI image layout, in one tar file."""

from __future__ import annotations

import hashlib
import io
import platform
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_LAYOUT = b'{"imageLayoutVersion":"1.0.0"}'
_TYPE = "application/vnd.oci.image"


class _Entry(msgspec.Struct, frozen=True):
    """`source` is a file to copy, or the content itself."""

    source: Path | bytes
    mode: int
    folder: bool = False


class Contents:
    """What one layer has, by paths without a leading slash. Everything belongs to root."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def file(self, path: str, source: Path) -> None:
        """Keeps the time (byte code is only valid with it) and of the mode whether it can be run."""
        mode = 0o755 if source.stat().st_mode & 0o111 else 0o644
        self._entries[path] = _Entry(source, mode)

    def text(self, path: str, text: str, mode: int = 0o644) -> None:
        self._entries[path] = _Entry(text.encode(), mode)

    def folder(self, path: str, mode: int = 0o755) -> None:
        self._entries[path] = _Entry(b"", mode, folder=True)

    def sources(self) -> Iterator[tuple[str, Path]]:
        """Paths of the files that are copied, and from where."""
        for path, entry in self._entries.items():
            if isinstance(entry.source, Path):
                yield path, entry.source

    def write(self, layer: Path) -> None:
        """As an uncompressed tar file, folders before what is in them."""
        entries = dict(self._entries)
        for path in self._entries:
            for parent in PurePosixPath(path).parents:
                entries.setdefault(str(parent), _Entry(b"", 0o755, folder=True))
        entries.pop(".", None)
        with tarfile.open(layer, "w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(entries):
                _add(tar, path, entries[path])


def _add(tar: tarfile.TarFile, path: str, entry: _Entry) -> None:
    info = tarfile.TarInfo(path)
    info.mode = entry.mode
    if entry.folder:
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    elif isinstance(entry.source, Path):
        with entry.source.open("rb") as file:
            found = entry.source.stat()
            info.size, info.mtime = found.st_size, int(found.st_mtime)
            tar.addfile(info, file)
    else:
        info.size = len(entry.source)
        tar.addfile(info, io.BytesIO(entry.source))


def write(archive: Path, name: str, layers: Sequence[Contents], *, entrypoint: str, user: str) -> None:
    """`name` is the image's with its tag. Layers are written beside the archive first."""
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        _blob(tar, "oci-layout", _LAYOUT)
        digests: list[str] = []
        described: list[dict[str, Any]] = []
        for number, contents in enumerate(layers):
            layer = archive.with_name(f"layer-{number}.tar")
            contents.write(layer)
            with layer.open("rb") as file:
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())
            tar.add(layer, _path(digests[-1]))
            described.append(_descriptor("layer.v1.tar", digests[-1], layer.stat().st_size))
            layer.unlink()
        config = _add_json(tar, "config.v1+json", _config(digests, entrypoint, user))
        manifest = {"schemaVersion": 2, "mediaType": f"{_TYPE}.manifest.v1+json"}
        described_manifest = _add_json(
            tar, "manifest.v1+json", manifest | {"config": config, "layers": described}
        )
        names = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
        index = {"schemaVersion": 2, "manifests": [described_manifest | {"annotations": names}]}
        _blob(tar, "index.json", msgspec.json.encode(index))
        docker = {
            "Config": _path(config["digest"].removeprefix("sha256:")),
            "RepoTags": [name],
            "Layers": [_path(digest) for digest in digests],
        }
        _blob(tar, "manifest.json", msgspec.json.encode([docker]))


def _config(digests: Sequence[str], entrypoint: str, user: str) -> dict[str, Any]:
    environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    return {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Entrypoint": [entrypoint], "Env": environment, "User": user, "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
    }


def _add_json(tar: tarfile.TarFile, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    data = msgspec.json.encode(value)
    digest = hashlib.sha256(data).hexdigest()
    _blob(tar, _path(digest), data)
    return _descriptor(kind, digest, len(data))


def _descriptor(kind: str, digest: str, size: int) -> dict[str, Any]:
    return {"mediaType": f"{_TYPE}.{kind}", "digest": f"sha256:{digest}", "size": size}


def _path(digest: str) -> str:
    return f"blobs/sha256/{digest}"


def _blob(tar: tarfile.TarFile, path: str, data: bytes) -> None:
    info = tarfile.TarInfo(path)
    info.size, info.mode = len(data), 0o644
    tar.addfile(info, io.BytesIO(data))
