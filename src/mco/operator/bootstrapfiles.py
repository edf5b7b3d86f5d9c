"""The files that an installer hands over, by the options that name them (spec/operator.md 1.16)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mco.base.errors import InvalidInput


class File(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is the original's word for it. One that is not required may be missing although it is named."""

    option: str
    name: str
    help: str
    default: str = ""
    required: bool = False


FILES = (
    File(
        option="proxy-config-file",
        name="Proxy",
        help="Manifest of the Proxy.",
        default="/assets/manifests/cluster-proxy-01-config.yaml",
        required=True,
    ),
    File(
        option="config-file",
        name="ClusterConfig",
        help="ConfigMap with the installer's configuration.",
        required=True,
    ),
    File(
        option="root-ca",
        name="MCSCAFile",
        help="PEM bundle that machines trust the config server by.",
        default="/etc/ssl/kubernetes/ca.crt",
        required=True,
    ),
    File(
        option="dns-config-file",
        name="DNS",
        help="Manifest of the DNS.",
        default="/assets/manifests/cluster-dns-02-config.yml",
        required=True,
    ),
    File(
        option="network-config-file",
        name="Network",
        help="Manifest of the Network.",
        default="/assets/manifests/cluster-network-02-config.yml",
        required=True,
    ),
    File(
        option="infra-config-file",
        name="Infrastructure",
        help="Manifest of the Infrastructure.",
        default="/assets/manifests/cluster-infrastructure-02-config.yml",
        required=True,
    ),
    File(
        option="pull-secret",
        name="PullSecret",
        help="Manifest of the Secret with which images are pulled.",
        default="/assets/manifests/pull.json",
        required=True,
    ),
    File(
        option="kube-ca",
        name="KubeAPIServerServingCA",
        help="PEM bundle that kubelets trust their clients by; may be missing.",
    ),
    File(
        option="cloud-provider-ca-file",
        name="CloudProviderCA",
        help="PEM bundle of the cloud provider; may be missing.",
    ),
    File(
        option="additional-trust-bundle-config-file",
        name="AdditionalTrustBundle",
        help="ConfigMap with authorities that nodes trust in addition; may be missing.",
        default="/assets/manifests/user-ca-bundle-config.yaml",
    ),
    File(
        option="cloud-config-file",
        name="CloudConfig",
        help="ConfigMap with the cloud provider's configuration; for an Infrastructure that names one.",
    ),
)


def load(paths: Mapping[str, Path | None]) -> dict[str, bytes]:
    """The files that are there; both are by option. Raises InvalidInput that names option and file."""
    found = {file.option: _read(file, paths.get(file.option)) for file in FILES}
    return {option: raw for option, raw in found.items() if raw is not None}


def _read(file: File, path: Path | None) -> bytes | None:
    """None for one that may be missing and is."""
    option = f"--{file.option}"
    if path is None:
        if file.required:
            raise InvalidInput(f"required file {file.name} not set", subject=option, hint=f"pass {option}")
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not file.required:
            return None
        text = f"cannot read {path} file. Error: {error.strerror}"
        raise InvalidInput(text, subject=option, path=str(path)) from error
