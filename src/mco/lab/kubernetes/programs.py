"""Where the programs of a real Kubernetes are: `make servers` builds them into the user's cache, or
KUBEBUILDER_ASSETS names a folder, the convention of the field."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from mco.base.errors import NotFound
from mco.lab import paths

ASSETS = "KUBEBUILDER_ASSETS"
_NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class Programs(msgspec.Struct, frozen=True):
    """A folder with programs of one version, perhaps not all of them."""

    folder: Path

    def __getitem__(self, name: str) -> Path:
        return self.folder / name

    def lacking(self) -> list[str]:
        """What a whole cluster would need besides."""
        return [name for name in _NAMES if not os.access(self[name], os.X_OK)]


def servers_folder() -> Path:
    """Has a folder of each version that was built."""
    return paths.cache_folder().parent / "servers"


def find() -> Programs:
    """All programs of a cluster, of the newest version there is. Raises NotFound, with what to do."""
    if given := os.environ.get(ASSETS):
        programs = Programs(Path(given))
        if lacking := programs.lacking():
            raise NotFound(
                f"{ASSETS} has no {', '.join(lacking)}",
                path=given,
                hint="unset it and run `make servers` in a checkout, or add them",
            )
        return programs
    versions = [match for folder in servers_folder().glob("*") if (match := _VERSION.fullmatch(folder.name))]
    for match in sorted(versions, key=lambda match: [int(part) for part in match.groups()], reverse=True):
        programs = Programs(servers_folder() / match.group())
        if not programs.lacking():
            return programs
    raise NotFound(
        "the programs of a Kubernetes are not there",
        path=str(servers_folder()),
        hint="run `make servers` in a checkout (Go 1.26 and some seven minutes), or set " + ASSETS,
    )
