"""The next version of this program, made as a release makes one, and what the version before it looked like.

The next one is a copy of the source with another number: its manifests are generated from it, its image is
assembled from it, and its own program applies them.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

import mco
from mco.api import names
from mco.kube.leader.timings import SINGLE_NODE
from mco.payload.manifest import DELETE
from mco.payload.source.metadata import OPERATOR, included
from mco.runtime import version

SCALE = 20.0
LEASE, RENEW, RETRY = (
    seconds / SCALE for seconds in (SINGLE_NODE.lease, SINGLE_NODE.renew, SINGLE_NODE.retry)
)
"""Seconds; a cluster has one control-plane machine here."""
OUTAGE = SINGLE_NODE.tolerated_outage / SCALE
DURATIONS = [
    f"--leader-elect-lease-duration={LEASE}",
    f"--leader-elect-renew-deadline={RENEW}",
    f"--leader-elect-retry-period={RETRY}",
]
NEXT = re.sub(r"\d+$", lambda last: str(int(last[0]) + 1), version.RAW)
_COMMIT = 40 * "a"
OLD_ACCOUNT, OLD_BINDING = "default", "default-account-openshift-machine-config-operator"
_OUR_BINDING = "rbac-machine-config-operator"
_WRITE_IMAGE = (
    "import sys, pathlib; from mco.payload import image; image.write_image(pathlib.Path(sys.argv[1]))"
)


class Release(msgspec.Struct, frozen=True):
    """`source` has the package."""

    source: Path
    image: Path

    @property
    def package(self) -> Path:
        return self.source / "mco"

    @property
    def environment(self) -> dict[str, str]:
        """In which this program is that version."""
        return {**os.environ, "PYTHONPATH": str(self.source)}


def make_next(folder: Path) -> Release:
    """With the operator's lease scaled."""
    release = Release(folder / "source", folder / "next.tar")
    package = release.package
    shutil.copytree(Path(mco.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    file = package / "runtime/version.py"
    file.write_text(file.read_text().replace(f'"{version.RAW}"', f'"{NEXT}"'))
    (package / version.COMMIT_FILE).write_text(_COMMIT)
    _python(release, "-m", "mco.payload.generate")
    change(package / "payload/manifests", {OPERATOR: _with_arguments(*DURATIONS)})
    compileall.compile_dir(package, quiet=2)
    _python(release, "-c", _WRITE_IMAGE, str(release.image))
    return release


def write_old(folder: Path, package: Path, *arguments: str) -> Path:
    """The payload of `package` as the report's version A had it: the operator under the ServiceAccount
    `default`, which may do everything by a binding of its own; nothing is removed."""
    shutil.copytree(package / "payload/manifests", folder)
    for path in folder.glob("*.yaml"):
        if DELETE in path.read_text() or (_OUR_BINDING in path.name and "binding" in path.name):
            path.unlink()
    change(folder, {OPERATOR: lambda body: _under_old_account(_with_arguments(*arguments)(body))})
    rights = folder / "0000_80_machine-config_00_old-binding.yaml"
    rights.write_text(yaml.safe_dump(_old_binding()))
    return folder


def write_faulty(folder: Path, package: Path) -> Path:
    """The payload with what the report found: the old permissions go at an earlier run-level, and the new
    operator starts before the old one has ended."""
    shutil.copytree(package / "payload/manifests", folder)
    deletion = f"clusterrolebinding-{OLD_BINDING}.yaml"
    (folder / f"0000_90_machine-config_90_{deletion}").rename(
        folder / f"0000_80_machine-config_03_{deletion}"
    )
    change(folder, {OPERATOR: _rolling})
    return folder


def change(folder: Path, changes: Mapping[str, Callable[[Any], Any]]) -> None:
    """Of Deployments, by their names."""
    for path in folder.glob("*deployment.yaml"):
        body = yaml.safe_load(path.read_text())
        if made := changes.get(body["metadata"]["name"]):
            path.write_text(yaml.safe_dump(made(body)))


def _with_arguments(*arguments: str) -> Callable[[Any], Any]:
    def changed(body: Any) -> Any:
        body["spec"]["template"]["spec"]["containers"][0]["args"] += arguments
        return body

    return changed


def _under_old_account(body: Any) -> Any:
    body["spec"]["template"]["spec"]["serviceAccountName"] = OLD_ACCOUNT
    return body


def _rolling(body: Any) -> Any:
    body["spec"]["strategy"] = {"type": "RollingUpdate"}
    return body


def _old_binding() -> dict[str, Any]:
    rbac = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": OLD_BINDING, "annotations": included()},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": OLD_ACCOUNT, "namespace": names.NAMESPACE}],
    }


def _python(release: Release, *argv: str) -> None:
    subprocess.run([sys.executable, *argv], env=release.environment, check=True, timeout=300)
