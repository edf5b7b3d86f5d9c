"""The order of a payload as a graph of serial nodes (spec/operator.md 6.2, cases in 8.13).

A node's manifests are applied one after another; a node starts when all nodes that it comes `after` are done.
That order is what keeps an outgoing version's permissions until the incoming one has reported itself:
nothing of level 90 starts before level 80, its ClusterOperator included, is done.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import groupby

import msgspec

from mco.payload.manifest import Manifest

_STRIDE = 8
"""Passes that walk through one order, each from another start, before another order is dealt."""

Group = tuple[Manifest, ...]
Layer = list[Group]
"""Groups that run beside each other."""


class Mode(StrEnum):
    """INITIALIZING: nothing was ever complete; UPDATING: another version is being installed; RECONCILING:
    this version is complete, and kept so."""

    INITIALIZING = "Initializing"
    UPDATING = "Updating"
    RECONCILING = "Reconciling"


class Node(msgspec.Struct, frozen=True):
    """`after` are indexes of nodes of the same graph."""

    manifests: Group
    after: tuple[int, ...] = ()


Graph = tuple[Node, ...]


def workers(mode: Mode, graph: Graph) -> int:
    """How many nodes are worked on at the same time."""
    return {Mode.INITIALIZING: max(1, len(graph)), Mode.UPDATING: 16, Mode.RECONCILING: 2}[mode]


def build(manifests: Sequence[Manifest], mode: Mode, attempt: int = 0) -> Graph:
    """`attempt` counts the passes: a reconciling one begins somewhere else each time, so that one manifest
    that fails never hides the others for long."""
    arrange: Callable[[Sequence[Manifest]], list[Layer]] = by_level if mode is Mode.UPDATING else flattened
    layers = [layer for part in split_on_jobs(manifests) for layer in arrange(part)]
    if mode is Mode.RECONCILING:
        layers = [rotated(shuffled(layer, attempt // _STRIDE), attempt % _STRIDE) for layer in layers]
    return chained(layers)


def chained(layers: Iterable[Layer]) -> Graph:
    """Every group of a layer comes after every group of the one before."""
    nodes: list[Node] = []
    before: tuple[int, ...] = ()
    for layer in layers:
        first = len(nodes)
        nodes += [Node(group, before) for group in layer]
        before = tuple(range(first, len(nodes))) or before
    return tuple(nodes)


def split_on_jobs(manifests: Sequence[Manifest]) -> list[Group]:
    """A Job stands alone: all before it is done when it starts, and nothing after it has begun."""
    parts: list[Group] = []
    for jobs, group in groupby(manifests, key=_is_job):
        run = tuple(group)
        parts += [(job,) for job in run] if jobs else [run]
    return parts


def by_level(manifests: Sequence[Manifest]) -> list[Layer]:
    """Components of one level beside each other; levels of one component, and files without a level, in one
    line."""
    layers: list[Layer] = []
    line: list[Manifest] = []
    for level, group in groupby(manifests, key=_level):
        run = tuple(group)
        components = _components(run) if level is not None else [run]
        if len(components) == 1:
            line += components[0]
            continue
        layers += [[tuple(line)]] if line else []
        layers.append(components)
        line = []
    return layers + ([[tuple(line)]] if line else [])


def flattened(manifests: Sequence[Manifest]) -> list[Layer]:
    """Every component of every level, and every file without a level, by itself."""
    layer: Layer = []
    for level, group in groupby(manifests, key=_level):
        run = tuple(group)
        layer += _components(run) if level is not None else [(manifest,) for manifest in run]
    return [layer] if layer else []


def shuffled(layer: Layer, seed: int) -> Layer:
    """The same order for the same seed."""
    return random.Random(seed).sample(layer, len(layer))


def rotated(layer: Layer, step: int) -> Layer:
    turn = step % len(layer) if layer else 0
    return layer[turn:] + layer[:turn]


def _components(manifests: Iterable[Manifest]) -> list[Group]:
    found: dict[str, list[Manifest]] = {}
    for manifest in manifests:
        level = manifest.level
        found.setdefault(level[1] if level else "", []).append(manifest)
    return [tuple(group) for group in found.values()]


def _level(manifest: Manifest) -> int | None:
    return manifest.level[0] if manifest.level else None


def _is_job(manifest: Manifest) -> bool:
    return (manifest.group, manifest.kind) == ("batch", "Job")
