"""What an installer has made before there is a cluster, by the options that name its files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mco.pki import authority

CONFIG = "config.openshift.io/v1"


@cache
def pem(name: str) -> str:
    return authority.create(name, datetime.now(UTC)).certificate_pem.decode()


def setting(kind: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": CONFIG, "kind": kind, "metadata": {"name": "cluster"}, **parts}


def config_map(name: str, **data: str) -> dict[str, Any]:
    keys = {key.replace("_", "."): value for key, value in data.items()}
    metadata = {"name": name, "namespace": "openshift-config"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": keys}


INFRASTRUCTURE = setting(
    "Infrastructure",
    spec={"cloudConfig": {"name": ""}},
    status={
        "apiServerInternalURI": "https://api-int.example:6443",
        "controlPlaneTopology": "HighlyAvailable",
        "etcdDiscoveryDomain": "example",
        "platformStatus": {"type": "BareMetal", "baremetal": {"apiServerInternalIPs": ["10.0.0.5"]}},
    },
)
NETWORK = setting(
    "Network",
    spec={"serviceNetwork": ["172.30.0.0/16"], "networkType": "OVNKubernetes"},
)
DNS = setting("DNS", spec={"baseDomain": "example"})
PROXY = setting(
    "Proxy",
    spec={"trustedCA": {"name": "user-ca-bundle"}},
    status={"httpsProxy": "http://proxy:3128", "noProxy": ".example"},
)
PULL_SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "pull-secret", "namespace": "openshift-config"},
    "type": "kubernetes.io/dockerconfigjson",
    "data": {".dockerconfigjson": "e30="},
}


def files() -> dict[str, Any]:
    """Objects, and bundles as they are."""
    return {
        "infra-config-file": INFRASTRUCTURE,
        "network-config-file": NETWORK,
        "dns-config-file": DNS,
        "proxy-config-file": PROXY,
        "config-file": config_map("cluster-config-v1", install_config="{}"),
        "pull-secret": PULL_SECRET,
        "root-ca": pem("root"),
        "kube-ca": pem("kube"),
        "additional-trust-bundle-config-file": config_map("user-ca-bundle", **{"ca-bundle_crt": pem("user")}),
    }


def write(folder: Path, contents: Mapping[str, Any]) -> dict[str, Path]:
    """Their paths by option."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {option: folder / f"{option}.yaml" for option in contents}
    for option, content in contents.items():
        paths[option].write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return paths
