"""Which pools a node belongs to, and which of them moves it (spec/node.md 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import LabelSelector
from mco.api.meta.selectors import Selector, selector
from mco.base.errors import InvalidInput


class Membership:
    """The pools' node selectors, compiled once and asked for every node.

    A pool without a node selector, or with an empty one, has no nodes. An unusable selector in any pool makes
    every question fail with InvalidInput, as in the original: nobody can tell whose node it would be."""

    def __init__(self, pools: Iterable[MachineConfigPool]) -> None:
        self._selectors: list[tuple[str, Selector]] = []
        self._error: InvalidInput | None = None
        for pool in sorted(pools, key=lambda pool: pool.name):
            if pool.spec.node_selector is None or pool.spec.node_selector.empty:
                continue
            try:
                self._selectors.append((pool.name, selector(pool.spec.node_selector)))
            except InvalidInput as error:
                self._error = InvalidInput(
                    f"invalid label selector: {error.message}",
                    subject=f"MachineConfigPool/{pool.name}",
                    path="$.spec.nodeSelector",
                    hint=error.hint,
                )

    def pools(self, node: Node) -> tuple[str, ...]:
        """Names of the node's pools; the first one moves the node, all are told about it.

        Raises InvalidInput for a node that two custom pools select."""
        if node.metadata.label(names.OS_LABEL) == "windows":
            return ()
        if self._error:
            raise self._error
        return _order(node, self._matching(node))

    def custom(self, node: Node) -> list[str]:
        """The custom pools that select the node; of a master they are ignored."""
        return _custom(self._matching(node))

    def _matching(self, node: Node) -> list[str]:
        return [name for name, s in self._selectors if s.matches(node.metadata.labels)]

    def primary(self, node: Node) -> str | None:
        """The pool that moves the node, None for a node without one. Raises like `pools`."""
        return next(iter(self.pools(node)), None)

    def members(self, nodes: Iterable[Node]) -> Mapping[str, list[Node]]:
        """The nodes that each pool moves, by name; a node whose question fails is in none."""
        members: dict[str, list[Node]] = {name: [] for name, _ in self._selectors}
        for node in sorted(nodes, key=lambda node: node.name):
            try:
                pool = self.primary(node)
            except InvalidInput:
                continue
            if pool is not None:
                members[pool].append(node)
        return members


class Memberships:
    """The membership by the pools' selectors as they are at the moment; compiled again when one changed."""

    def __init__(self) -> None:
        self._of: dict[str, LabelSelector | None] | None = None
        self._membership = Membership(())

    def by(self, pools: Iterable[MachineConfigPool]) -> Membership:
        pools = list(pools)
        selectors = {pool.name: pool.spec.node_selector for pool in pools}
        if selectors != self._of:
            self._of, self._membership = selectors, Membership(pools)
        return self._membership


def _order(node: Node, matching: list[str]) -> tuple[str, ...]:
    custom = _custom(matching)
    if len(custom) > 1:
        raise InvalidInput(
            f"node {node.name} belongs to {len(custom)} custom roles, cannot proceed with this Node",
            subject=f"Node/{node.name}",
            path="$.metadata.labels",
            hint=f"remove all but one of the labels that pools {', '.join(custom)} select",
        )
    if custom:
        first = names.MASTER if names.MASTER in matching else custom[0]
        return (first, *(name for name in matching if name == names.WORKER))
    if names.MASTER in matching:
        return (names.MASTER,)
    return tuple(matching)


def _custom(matching: list[str]) -> list[str]:
    return [name for name in matching if name not in (names.MASTER, names.WORKER)]
