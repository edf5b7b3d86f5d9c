"""Nodes that no config server ever served: which role each would get, and what its pool would then change on
it. Such a node has the empty config (design.md 10, adoption)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from mco.api import names, resources
from mco.api.controllerconfig import ControllerConfig
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import Object, ObjectMeta
from mco.api.resources import Resource
from mco.base.errors import InvalidInput, MCOError, RenderError
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.plan.node import policies
from mco.plan.node.target import EMPTY_NAME
from mco.plan.pool.membership import Membership
from mco.plan.preview.preview import Preview, preview
from mco.render import builtin
from mco.render.pool import render
from mco.render.selection import select

T = TypeVar("T", bound=Object)

_CONTROL_PLANE = f"{names.NODE_ROLE_PREFIX}control-plane"


class Adoption(msgspec.Struct, frozen=True, kw_only=True):
    """`role` is the one that the node gets, empty where it has one; `pool` moves it then, `trouble` says why
    none does."""

    node: str
    role: str
    pool: str
    trouble: str = ""


class Prospect(msgspec.Struct, frozen=True, kw_only=True):
    """What a pool would change on a node that has the empty config: nothing yet where `change` is None."""

    pool: str
    change: Preview | None
    trouble: str = ""


class Outlook(msgspec.Struct, frozen=True):
    """Every node, by name, and every pool that would move one."""

    nodes: tuple[Adoption, ...]
    pools: tuple[Prospect, ...]


async def outlook(client: Client) -> Outlook:
    """Of the cluster as it is now; pools that are not there yet are the built-in ones."""
    nodes = (await client.list(resources.NODES)).items
    pools = {name: builtin.pool(name) for name in (names.MASTER, names.WORKER)}
    pools |= {pool.name: pool for pool in await _items(client, resources.MACHINE_CONFIG_POOLS)}
    adopted = adoptions(nodes, pools.values())
    configs = {config.name: config for config in await _items(client, resources.MACHINE_CONFIGS)}
    controllers = await _items(client, resources.CONTROLLER_CONFIGS)
    controller = controllers[0] if controllers else ControllerConfig()
    moving = sorted({each.pool for each in adopted if each.pool})
    return Outlook(adopted, tuple(prospect(pools[name], configs, controller) for name in moving))


async def label(client: Client, adopted: Iterable[Adoption]) -> list[str]:
    """Gives those without a role theirs; answers which."""
    lacking = [each for each in adopted if each.role]
    for each in lacking:
        labels = {f"{names.NODE_ROLE_PREFIX}{each.role}": ""}
        await client.patch(resources.NODES, each.node, {"metadata": {"labels": labels}})
    return [each.node for each in lacking]


def adoptions(nodes: Sequence[Node], pools: Iterable[MachineConfigPool]) -> tuple[Adoption, ...]:
    """A node of the control plane becomes a master, any other one a worker."""
    membership = Membership(pools)
    found = []
    for node in sorted(nodes, key=lambda node: node.name):
        role = _role(node)
        pool, trouble = "", ""
        try:
            pool = membership.primary(_with_role(node, role)) or ""
        except InvalidInput as error:
            trouble = error.message
        found.append(Adoption(node=node.name, role=role, pool=pool, trouble=trouble))
    return tuple(found)


def prospect(
    pool: MachineConfigPool, configs: Mapping[str, MachineConfig], controller: ControllerConfig
) -> Prospect:
    """The pool's rendered config against the empty one; of a pool that was never rendered, the one that it
    would get."""
    try:
        target = configs.get(pool.spec.configuration.name) or _rendered(pool, configs, controller)
        change = preview(_EMPTY, target, policies.DEFAULT) if target else None
    except MCOError as error:
        return Prospect(pool=pool.name, change=None, trouble=str(error))
    return Prospect(pool=pool.name, change=change)


_EMPTY = MachineConfig(metadata=ObjectMeta(name=EMPTY_NAME))


def _rendered(
    pool: MachineConfigPool, configs: Mapping[str, MachineConfig], controller: ControllerConfig
) -> MachineConfig | None:
    """None for a pool that selects nothing yet."""
    inputs = [config for name, config in configs.items() if not name.startswith(names.RENDERED_PREFIX)]
    try:
        select(pool, inputs)
    except RenderError:
        return None
    rendered = render(pool, inputs, controller)
    return msgspec.json.decode(msgspec.json.encode(rendered.machine_config), type=MachineConfig)


def _role(node: Node) -> str:
    """Nothing for one that has a role, and for a system that no pool can move."""
    labels = node.metadata.labels or {}
    has = any(f"{names.NODE_ROLE_PREFIX}{role}" in labels for role in names.BUILT_IN_POOLS)
    if has or labels.get(names.OS_LABEL) == "windows":
        return ""
    return names.MASTER if _CONTROL_PLANE in labels else names.WORKER


def _with_role(node: Node, role: str) -> Node:
    if not role:
        return node
    labels = {**(node.metadata.labels or {}), f"{names.NODE_ROLE_PREFIX}{role}": ""}
    metadata = msgspec.structs.replace(node.metadata, labels=labels)
    return msgspec.structs.replace(node, metadata=metadata)


async def _items(client: Client, resource: Resource[T]) -> list[T]:
    """Nothing where the kind is not there yet."""
    try:
        return (await client.list(resource)).items
    except NotFoundError:
        return []
