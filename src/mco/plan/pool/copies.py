"""Which node is asked for its copy of a rendered config that the cluster lost, and what its answer means.

One node is asked at a time, for one config at a time: each answer is a copy of all the secrets in a config.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from mco.api import names
from mco.api.configcopies import answered, requested
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.meta import conditions as cond
from mco.plan.pool import nodes as state

ROUND = 5
"""So many nodes are asked in vain before people are told; then others are."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """`waited`: seconds since each request was seen first, by nonce. `asked`: who was asked in this round,
    and `vain` how often ever, each time in vain. `patience`: seconds that an answer may take."""

    config: str
    nodes: Iterable[Node]
    reports: Iterable[MachineConfigNode]
    waited: Mapping[str, float]
    asked: Collection[str]
    vain: Mapping[str, int]
    patience: float


class Ask(msgspec.Struct, frozen=True):
    node: Node


class Wait(msgspec.Struct, frozen=True):
    seconds: float


class Take(msgspec.Struct, frozen=True):
    """What the node says that it gave is there."""

    node: Node
    nonce: str
    parts: int


class Drop(msgspec.Struct, frozen=True):
    """The request is over without an answer that helps."""

    node: Node


class GiveUp(msgspec.Struct, frozen=True):
    """For now. Nobody is left to be asked in this round; `silent` may have it and do not report."""

    silent: tuple[str, ...]


Step = Ask | Wait | Take | Drop | GiveUp


def next_step(facts: Facts) -> Step:
    """Total: never raises, whatever Nodes and reports say."""
    nodes = list(facts.nodes)
    asked = [node for node in nodes if (found := requested(node)) and found.config == facts.config]
    if asked:
        return _of_requests(facts, sorted(asked, key=lambda node: (answered(node) is None, node.name)))
    places = _places(facts, nodes)
    reporting = [node for node in nodes if node.name in places and _reports(node)]
    fresh = [node for node in reporting if node.name not in facts.asked]
    if len(facts.asked) >= ROUND or not fresh:
        return GiveUp(tuple(sorted(places.keys() - {node.name for node in reporting})))
    free = [node for node in fresh if not requested(node)]
    if not free:
        return Wait(facts.patience)
    return Ask(min(free, key=lambda node: (facts.vain.get(node.name, 0), places[node.name], node.name)))


def _of_requests(facts: Facts, asked: list[Node]) -> Step:
    """`asked`: those who answered first. There is more than one only if two controllers asked at once."""
    first, request, answer = asked[0], requested(asked[0]), answered(asked[0])
    if answer is not None:
        return Take(first, answer.nonce, answer.parts) if answer.parts else Drop(first)
    left = facts.patience - facts.waited.get(request.nonce if request else "", 0.0)
    return Wait(left) if left > 0 else Drop(first)


def _places(facts: Facts, nodes: list[Node]) -> dict[str, int]:
    """Nodes that may have the config, the likelier the less. What a node runs is on its disk; what it was
    told to run may not have come there; what it was born with is there until somebody tidies up."""
    config = facts.config
    places: dict[str, int] = {}
    for report in facts.reports:
        if config == report.status.config_version.current:
            places[report.name] = 1
        elif config in (report.spec.config_version.desired, report.status.config_version.desired):
            places[report.name] = 3
    for node in nodes:
        said = (state.current(node), "", state.desired(node), "", _born_with(node))
        if config in said:
            place = said.index(config)
            places[node.name] = min(place, places.get(node.name, place))
    return {node.name: places[node.name] for node in nodes if node.name in places}


def _born_with(node: Node) -> str:
    return node.metadata.annotation(names.FIRST_PIVOT_CONFIG) or ""


def _reports(node: Node) -> bool:
    """Whether anybody hears of it. One that says that it is not ready can still read its disk."""
    ready = cond.find(node.status.conditions, "Ready")
    return node.metadata.deletion_timestamp is None and (ready is None or ready.status != cond.UNKNOWN)
