"""The images that an installation runs or hands on, by all the names that they have (spec/operator.md 1.5,
1.16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mco.base.errors import InvalidInput

OURS = "machineConfigOperator"
"""Runs every component."""
_WATCHER = "apiServerWatcherKey"


class Image(msgspec.Struct, frozen=True):
    """`name` in images.json; `key` in a ControllerConfig, empty for one that nothing on a node needs; `tag`
    in a release's image references; `option` of the command line."""

    name: str
    key: str
    tag: str
    option: str


IMAGES = (
    Image(OURS, OURS, "machine-config-operator", "machine-config-operator-image"),
    Image("infraImage", "infraImageKey", "pod", "infra-image"),
    Image("keepalivedImage", "keepalivedImage", "keepalived-ipfailover", "keepalived-image"),
    Image("corednsImage", "corednsImage", "coredns", "coredns-image"),
    Image("haproxyImage", "haproxyImage", "haproxy-router", "haproxy-image"),
    Image(
        *("baremetalRuntimeCfgImage", "baremetalRuntimeCfgImage"),
        *("baremetal-runtimecfg", "baremetal-runtimecfg-image"),
    ),
    Image("oauthProxy", "", "oauth-proxy", "oauth-proxy-image"),
    Image("kubeRbacProxy", "kubeRbacProxyImage", "kube-rbac-proxy", "kube-rbac-proxy-image"),
    Image("dockerRegistryImage", "dockerRegistryImage", "docker-registry", "docker-registry-image"),
)

OS_TAGS = ("rhel-coreos", "fedora-coreos", "stream-coreos")
"""Of the operating system's image; with `-extensions` of its extensions' one."""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """`images` by `Image.name`; `warnings` name what a release may lack."""

    images: Mapping[str, str] = {}
    base_os: str = ""
    base_os_extensions: str = ""
    warnings: Sequence[str] = ()


def for_nodes(images: Mapping[str, str]) -> dict[str, str]:
    """The images of a ControllerConfig."""
    made = {image.key: images[image.name] for image in IMAGES if image.key and images.get(image.name)}
    return made | ({_WATCHER: images[OURS]} if images.get(OURS) else {})


def referenced(stream: Mapping[str, Any], source: str) -> Release:
    """The images that an ImageStream names. Raises InvalidInput when one of ours is not among them; `source`
    is where the stream stands."""
    tags = _tags(stream)
    for image in IMAGES:
        if image.tag not in tags:
            raise InvalidInput(f"Failed to find {image.tag} in image references", path=source)
    system = next((tag for tag in OS_TAGS if tag in tags), OS_TAGS[0])
    extensions = f"{system}-extensions"
    optional = {"Base OS container": system, "Base OS extensions container": extensions}
    return Release(
        images={image.name: tags[image.tag] for image in IMAGES},
        base_os=tags.get(system, ""),
        base_os_extensions=tags.get(extensions, ""),
        warnings=tuple(
            f"{what} not found: could not find {tag} in images"
            for what, tag in optional.items()
            if tag not in tags
        ),
    )


def _tags(stream: Mapping[str, Any]) -> dict[str, str]:
    """The image by each tag that names one."""
    listed = (stream.get("spec") or {}).get("tags") or ()
    named = [(tag.get("name"), tag.get("from") or {}) for tag in listed]
    return {name: image["name"] for name, image in named if image.get("kind") == "DockerImage"}
