"""Hypothesis strategies for what an installation starts from: a ControllerConfig, pools and MachineConfigs of
every origin, and the same as manifests in any order and notation."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from mco.api import names
from mco.base.errors import MCOError
from mco.ignition import encode, translate
from mco.render.yamltext import dump
from tests.property.strategies import valid_configs

API = {"apiVersion": names.API_VERSION}
CUSTOM = ("edge", "infra")
ROLES = (names.MASTER, names.WORKER, names.ARBITER, *CUSTOM)
VERSIONS = ("2.2.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0")
DIGESTS = tuple(f"quay.io/os@sha256:{digit * 64}" for digit in "12")

images = st.sampled_from(("", "quay.io/os:latest", *DIGESTS))
arguments = st.lists(
    st.sampled_from(
        ("nosmt", "y", "0o17", "1e3", "a: b", "# x", " x", "systemd.unified_cgroup_hierarchy=0", "ä=\u2028")
    ),
    max_size=3,
)


class Installation(msgspec.Struct, frozen=True):
    """Objects as builtins, as they are applied. `implied`: names of built-in pools that no manifest holds."""

    controller: dict[str, Any]
    pools: list[dict[str, Any]]
    machine_configs: list[dict[str, Any]]
    implied: tuple[str, ...] = ()

    def written(self) -> list[dict[str, Any]]:
        pools = [pool for pool in self.pools if pool["metadata"]["name"] not in self.implied]
        return [self.controller, *pools, *self.machine_configs]


def pool(name: str) -> dict[str, Any]:
    """As the operator or an administrator writes it."""
    roles = {"key": names.ROLE_LABEL, "operator": "In", "values": [names.WORKER, name]}
    own = {"matchLabels": {names.ROLE_LABEL: name}}
    spec = {
        "machineConfigSelector": {"matchExpressions": [roles]} if name in CUSTOM else own,
        "nodeSelector": {"matchLabels": {names.NODE_ROLE_PREFIX + name: ""}},
    }
    return {**API, "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": spec}


@st.composite
def controllers(draw: st.DrawFn) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": names.CONTROLLER_CONFIG}
    if draw(st.booleans()):
        metadata["annotations"] = {names.RELEASE_IMAGE_VERSION: "4.99"}
    spec = {
        "baseOSContainerImage": draw(images),
        "baseOSExtensionsContainerImage": draw(images),
        "osImageURL": draw(images),
    }
    return {**API, "kind": "ControllerConfig", "metadata": metadata, "spec": spec}


@st.composite
def ignition(draw: st.DrawFn) -> dict[str, Any]:
    """In any version that can say it."""
    config = draw(valid_configs())
    try:
        raw = translate.down(config, draw(st.sampled_from(VERSIONS)))
    except MCOError:
        return encode.to_builtins(config)
    document: dict[str, Any] = msgspec.json.decode(raw)
    return document


def _names(role: str) -> st.SearchStrategy[str]:
    """Templates, the sub-controllers' and people's."""
    return st.sampled_from(
        (
            *(f"00-{role}", f"01-{role}-kubelet", f"97-{role}-generated-kubelet", f"98-{role}-x"),
            *(f"99-{role}-generated-kubelet", f"99-{role}-ssh", f"50-{role}", f"a-{role}"),
        )
    )


@st.composite
def machine_config(draw: st.DrawFn, role: str, name: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {names.ROLE_LABEL: role}}
    if draw(st.booleans()):
        metadata["annotations"] = {names.GENERATED_BY_CONTROLLER_VERSION: "abc"}
    fields: dict[str, st.SearchStrategy[Any]] = {
        "config": ignition(),
        "osImageURL": images,
        "baseOSExtensionsContainerImage": images,
        "kernelArguments": arguments,
        "kernelType": st.sampled_from(("", "default", "realtime", "64k-pages")),
        "extensions": st.lists(st.sampled_from(("usbguard", "ipsec", "kernel-devel")), max_size=2),
        "fips": st.booleans(),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(fields)), max_size=4))
    spec = {field: draw(fields[field]) for field in sorted(chosen)}
    return {**API, "kind": "MachineConfig", "metadata": metadata, "spec": spec}


@st.composite
def installations(draw: st.DrawFn) -> Installation:
    """Each pool has something to be made of; not every one can be rendered."""
    custom = draw(st.sets(st.sampled_from(CUSTOM)))
    arbiter = (names.ARBITER,) if draw(st.booleans()) else ()
    roles = (names.MASTER, names.WORKER, *arbiter, *sorted(custom))
    configs = []
    for role in roles:
        least = 0 if role in CUSTOM else 1
        for name in draw(st.lists(_names(role), min_size=least, max_size=4, unique=True)):
            configs.append(draw(machine_config(role, name)))
    implied = draw(st.sets(st.sampled_from((names.MASTER, names.WORKER))))
    pools = [pool(name) for name in roles]
    return Installation(draw(controllers()), pools, configs, tuple(sorted(implied)))


@st.composite
def manifests(draw: st.DrawFn, installation: Installation) -> bytes:
    """All that is written, in any order; JSON and YAML, alone and in lists."""
    objects = draw(st.permutations(installation.written()))
    split = draw(st.integers(0, len(objects)))
    listed = {"apiVersion": "v1", "kind": "List", "items": objects[:split]}
    texts = []
    for item in (listed, *objects[split:]):
        texts.append(dump(item).encode() if draw(st.booleans()) else msgspec.json.encode(item))
    return b"\n---\n".join(texts)
