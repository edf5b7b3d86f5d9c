"""Who needs which rendered config: pools, nodes, image builds, and machines that were served one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain

import msgspec

from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.plan.pool import nodes as state

_NAMED = 10
"""So many nodes are named in a text."""


class Why(StrEnum):
    """Why a rendered config stays; the values are what people and programs see.

    `NODE_PENDING`: a MachineConfigNode says that its node is on the way there. `ROLLBACK_TARGET`: it says
    that the node had it last, which is what a failed change is undone to and what a Node that was created
    anew has on its disk. `SERVED`: a machine may be booting with it that has not reported yet. `YOUNG`,
    `NEWEST` and `PINNED` are no use, but reasons of people."""

    POOL_SPEC = "PoolSpec"
    POOL_STATUS = "PoolStatus"
    NODE_CURRENT = "NodeCurrent"
    NODE_DESIRED = "NodeDesired"
    NODE_PENDING = "NodePending"
    ROLLBACK_TARGET = "RollbackTarget"
    IMAGE_BUILD = "ImageBuild"
    SERVED = "Served"
    YOUNG = "Young"
    NEWEST = "Newest"
    PINNED = "Pinned"


NOT_IN_USE = frozenset({Why.YOUNG, Why.NEWEST, Why.PINNED})
_OF_NODES = (Why.NODE_CURRENT, Why.NODE_DESIRED, Why.NODE_PENDING, Why.ROLLBACK_TARGET)
_OF_POOLS = (Why.POOL_SPEC, Why.POOL_STATUS)

User = MachineConfigPool | Node | MachineConfigNode
Reasons = Mapping[Why, tuple[str, ...]]
"""Each reason with the names of the pools, nodes or builds that it comes from, if it comes from any."""


class Users(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can need a rendered config. `builds` are names of configs by MachineOSBuild."""

    pools: Iterable[MachineConfigPool] = ()
    nodes: Iterable[Node] = ()
    reports: Iterable[MachineConfigNode] = ()
    builds: Mapping[str, str] = msgspec.field(default_factory=dict)


def uses(users: Users) -> dict[str, dict[Why, tuple[str, ...]]]:
    """Reasons by the name of the config, whether or not there is one of that name."""
    found: dict[str, dict[Why, list[str]]] = {}
    for config, why, name in _all(users):
        if config:
            found.setdefault(config, {}).setdefault(why, []).append(name)
    return {
        config: {why: tuple(sorted(set(reasons[why]))) for why in Why if why in reasons}
        for config, reasons in found.items()
    }


def in_use(reasons: Reasons) -> bool:
    return any(why not in NOT_IN_USE for why in reasons)


def users_text(reasons: Reasons) -> str:
    """Who needs it, for a sentence: `pool worker, nodes w1 and w2`."""
    pools, nodes = _names(reasons, _OF_POOLS), _names(reasons, _OF_NODES)
    parts = [listed("pool", pools), listed("node", nodes)]
    parts.append(listed("image build", list(reasons.get(Why.IMAGE_BUILD, ()))))
    if Why.SERVED in reasons:
        parts.append("machines that were served it and may be booting")
    return ", ".join(part for part in parts if part)


def needs(user: User) -> Iterator[tuple[str, Why]]:
    """What one of them needs, and why; a name may be empty."""
    match user:
        case MachineConfigPool():
            if user.metadata.deletion_timestamp:
                # It waits for its configs to go; its nodes speak for themselves.
                return
            yield user.spec.configuration.name, Why.POOL_SPEC
            yield user.status.configuration.name, Why.POOL_STATUS
        case Node():
            yield state.current(user), Why.NODE_CURRENT
            yield state.desired(user), Why.NODE_DESIRED
        case MachineConfigNode():
            yield user.spec.config_version.desired, Why.NODE_PENDING
            yield user.status.config_version.desired, Why.NODE_PENDING
            yield user.status.config_version.current, Why.ROLLBACK_TARGET


def _all(users: Users) -> Iterator[tuple[str, Why, str]]:
    everybody: Iterable[User] = chain(users.pools, users.nodes, users.reports)
    for user in everybody:
        for config, why in needs(user):
            yield config, why, user.name
    for build, config in users.builds.items():
        yield config, Why.IMAGE_BUILD, build


def _names(reasons: Reasons, of: Iterable[Why]) -> list[str]:
    return sorted({name for why in of for name in reasons.get(why, ())})


def listed(kind: str, found: Sequence[str]) -> str:
    """`node w1`, `nodes w1 and w2`, and no more of many than help."""
    if not found:
        return ""
    shown, more = found[:_NAMED], len(found) - _NAMED
    ends = [f"{more} more"] if more > 0 else shown[1:][-1:]
    first = shown if more > 0 else shown[: max(1, len(shown) - 1)]
    plural = "s" if len(found) > 1 else ""
    return f"{kind}{plural} {', '.join(first)}" + "".join(f" and {end}" for end in ends)
