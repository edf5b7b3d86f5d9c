"""The first render, before there is a cluster (spec/render.md 3): manifests to what the bootstrap config
server serves.

It goes through the function that renders in the cluster, on the same inputs, and leaves out what the
cluster would leave out: a machine that was installed with the result has the config that the cluster tells it
to have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mco.api import names
from mco.api.findings import Finding
from mco.api.machineconfigpool import MachineConfigPool, PoolSpec
from mco.api.manifests import Manifests, items, read
from mco.api.meta.objects import JSON
from mco.api.yaml import Document
from mco.base.errors import MCOError, NotFound
from mco.render import builtin
from mco.render.checks import Versions
from mco.render.pool import render
from mco.render.rendered import Rendered
from mco.render.sources import Sources

_OURS = names.API_VERSION
_CONFIG = "config.openshift.io"

_INPUTS_ELSEWHERE = frozenset(
    (
        *((_OURS, kind) for kind in ("KubeletConfig", "ContainerRuntimeConfig", "MachineOSConfig")),
        *((f"{_CONFIG}/v1", kind) for kind in ("ImageDigestMirrorSet", "ImageTagMirrorSet")),
        *((f"{_CONFIG}/v1", kind) for kind in ("ImagePolicy", "ClusterImagePolicy")),
        ("operator.openshift.io/v1alpha1", "ImageContentSourcePolicy"),
    )
)
"""What the original makes MachineConfigs of, and no controller here does."""


class Inputs(msgspec.Struct, frozen=True):
    """What the manifests hold. `findings` of the manifests tell what is wrong with them, or ignored.

    `pools`, `controller` and `api_server` are the objects as they were written, with every field."""

    manifests: Manifests
    pools: Mapping[str, Mapping[str, Any]]
    controller: Mapping[str, Any] | None = None
    api_server: Mapping[str, Any] | None = None


class Bootstrap(msgspec.Struct, frozen=True):
    """The rendered pools, and the objects to write by their paths below the destination.

    The files stand in the order in which they have to be written: none names one that comes after it."""

    rendered: tuple[Rendered, ...]
    files: Mapping[str, Mapping[str, Any]]


def gather(documents: Iterable[Document]) -> Inputs:
    """The objects of the manifests. Of several ControllerConfigs the last one counts; a built-in pool gives
    way to one of the same name that somebody changed; any other object that stands twice is a finding."""
    every = [item for document in documents for item in items(document)]
    kept = _without_spare_pools(_without_older(every, "ControllerConfig"))
    manifests = read(kept)
    findings = (*manifests.findings, *_ignored(manifests.others))
    controllers = [item.value for item in kept if _is(item, "ControllerConfig")]
    servers = [other for other in manifests.others if _is_api_server(other)]
    return Inputs(
        manifests=msgspec.structs.replace(manifests, findings=findings),
        pools={_name(item): _object(item) for item in kept if _is(item, "MachineConfigPool")},
        controller=_mapping(controllers[-1]) if controllers else None,
        api_server=servers[-1] if servers else None,
    )


def bootstrap(inputs: Inputs, folder: str, versions: Versions) -> Bootstrap:
    """Renders every pool of the manifests, and each built-in one that they have MachineConfigs for.

    `folder` names where the manifests came from. `inputs` have no errors among their findings. Raises
    NotFound without a ControllerConfig, and the first pool's RenderError or InvalidInput; what the cluster
    would refuse because of its size is refused here, too."""
    if inputs.controller is None:
        raise NotFound(
            f'no controllerconfig found in dir: "{folder}"',
            hint=f"add the ControllerConfig {names.CONTROLLER_CONFIG} that the cluster will have",
        )
    sources = Sources()
    pools = (*inputs.manifests.pools, *_implied(inputs.manifests))
    rendered = tuple(_rendered(pool, inputs.manifests, versions, sources) for pool in pools)
    files: dict[str, Mapping[str, Any]] = {}
    for result in rendered:
        files[f"machine-configs/{result.name}.yaml"] = result.machine_config
    files[f"controller-config/{names.CONTROLLER_CONFIG}.yaml"] = inputs.controller
    if inputs.api_server is not None:
        files["api-server/api-server.yaml"] = inputs.api_server
    for result in rendered:
        files[f"machine-pools/{result.pool.name}.yaml"] = _targeted(result, inputs.pools)
    return Bootstrap(rendered, files)


def _rendered(
    pool: MachineConfigPool, manifests: Manifests, versions: Versions, sources: Sources
) -> Rendered:
    try:
        result = render(
            pool, manifests.machine_configs, manifests.controller_config, versions, sources=sources
        )
        if result.too_large:
            raise result.too_large
    except MCOError as error:
        error.message = f"Failed to render configuration for pool {pool.name}: {error.message}"
        raise
    return result


def _implied(manifests: Manifests) -> Iterator[MachineConfigPool]:
    """The cluster has them whether anybody writes them down or not, and renders them as soon as it can."""
    written = {pool.name for pool in manifests.pools}
    roles = {(config.metadata.labels or {}).get(names.ROLE_LABEL) for config in manifests.machine_configs}
    for name in (names.MASTER, names.WORKER):
        if name not in written and name in roles:
            yield builtin.pool(name)


def _targeted(rendered: Rendered, written: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The pool at its config, as the config server finds it: its status is that of a cluster which is there
    already."""
    pool = dict(written.get(rendered.pool.name) or msgspec.to_builtins(rendered.pool))
    source = [{"apiVersion": _OURS, "kind": "MachineConfig", "name": name} for name in rendered.source]
    configuration = {"name": rendered.name, "source": source}
    for part in ("spec", "status"):
        pool[part] = {**(pool.get(part) or {}), "configuration": configuration}
    return pool


def _without_older(documents: Sequence[Document], kind: str) -> list[Document]:
    last = max((index for index, item in enumerate(documents) if _is(item, kind)), default=-1)
    return [item for index, item in enumerate(documents) if index == last or not _is(item, kind)]


def _without_spare_pools(documents: Sequence[Document]) -> list[Document]:
    """Of the pools that are as they are built in only the last of a name, and none beside a changed one."""
    pools = [item for item in documents if _is(item, "MachineConfigPool")]
    built_in = {id(item): _name(item) for item in pools if _built_in(item)}
    changed = {_name(item) for item in pools if id(item) not in built_in}
    last = {name: item for item, name in built_in.items()}
    spare = {item for item, name in built_in.items() if name in changed or last[name] != item}
    return [item for item in documents if id(item) not in spare]


def _built_in(document: Document) -> bool:
    name = _name(document)
    if name not in names.BUILT_IN_POOLS:
        return False
    try:
        spec = msgspec.convert(_object(document).get("spec") or {}, PoolSpec)
    except msgspec.ValidationError:
        return False
    return spec == builtin.pool(name).spec


def _ignored(others: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    for other in others:
        if (other["apiVersion"], other["kind"]) in _INPUTS_ELSEWHERE:
            yield Finding(
                level="warning",
                subject=f"{other['kind']}/{(other.get('metadata') or {}).get('name', '')}",
                message="no MachineConfig is made of it, here or in the cluster: the object is ignored",
                hint="write the MachineConfig that is meant",
            )


def _is_api_server(other: Mapping[str, Any]) -> bool:
    metadata = other.get("metadata")
    return (
        other["kind"] == "APIServer"
        and str(other["apiVersion"]).startswith(f"{_CONFIG}/")
        and isinstance(metadata, dict)
        and metadata.get("name") == "cluster"
    )


def _is(document: Document, kind: str) -> bool:
    value = _object(document)
    return value.get("kind") == kind and value.get("apiVersion") == _OURS


def _name(document: Document) -> str:
    metadata = _object(document).get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


def _object(document: Document) -> Mapping[str, Any]:
    return _mapping(document.value)


def _mapping(value: JSON) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
