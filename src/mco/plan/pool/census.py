"""Which pool moves which node, and how each of them stands: worked out again only for nodes that changed.

Nodes are taken from a cache, and from the answers to what was written: a cache may lag behind them, and a
decision on the older view could send off one node more than `maxUnavailable` allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import older
from mco.base.errors import InvalidInput
from mco.plan.pool.membership import Membership, Memberships
from mco.plan.pool.nodes import Standing, standing


class Nodes(Protocol):
    """Nodes by name, as a mapping or a cache has them."""

    def get(self, key: str, /) -> Node | None: ...

    def values(self) -> Iterable[Node]: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[str]: ...


class Census:
    """`take` before asking; `wrote` with the answer to each write."""

    def __init__(self) -> None:
        self._unassigned: dict[str, str] = {}
        self._memberships = Memberships()
        self._membership = Membership(())
        self._seen: dict[str, Node] = {}
        self._standings: dict[str, Standing] = {}
        self._pool_of: dict[str, str] = {}
        self._members: dict[str, dict[str, Standing]] = {}
        self._unsorted: set[str] = set()

    def take(self, pools: Iterable[MachineConfigPool], nodes: Nodes) -> None:
        """Looks at what changed since the last time; at every node when a pool selects others."""
        membership = self._memberships.by(pools)
        if membership is not self._membership:
            self._membership = membership
            self._file_all()
        for node in nodes.values():
            if self._seen.get(node.name) is not node:
                self._seen[node.name] = node
                self._update(node)
        if len(self._seen) != len(nodes):
            for name in [name for name in self._seen if nodes.get(name) is None]:
                self._forget(name)

    def wrote(self, node: Node) -> None:
        """What the server answered; a node that is gone by now stays gone."""
        if node.name in self._seen:
            self._update(node)

    def members(self, pool: str) -> Mapping[str, Standing]:
        """The nodes that `pool` moves, by name and in that order."""
        members = self._members.get(pool, {})
        if pool in self._unsorted:
            members = self._members[pool] = dict(sorted(members.items()))
            self._unsorted.discard(pool)
        return members

    def unassigned(self) -> Mapping[str, tuple[Standing, str]]:
        """The nodes that no pool moves, by name, each with the sentence that says what is wrong; it is empty
        when no pool selects the node."""
        return {name: (self._standings[name], trouble) for name, trouble in self._unassigned.items()}

    def _update(self, node: Node) -> None:
        known = self._standings.get(node.name)
        if known is None or not older(node, known.node):
            self._file(standing(node))

    def _file(self, member: Standing) -> None:
        name = member.name
        self._standings[name] = member
        pool = self._primary(member.node)
        if self._pool_of.get(name) != pool:
            self._unfile(name)
            if pool is not None:
                self._pool_of[name] = pool
                self._unsorted.add(pool)
        if pool is not None:
            self._members.setdefault(pool, {})[name] = member

    def _primary(self, node: Node) -> str | None:
        try:
            pool, trouble = self._membership.primary(node), ""
        except InvalidInput as error:
            pool, trouble = None, error.message
        if pool is None:
            self._unassigned[node.name] = trouble
        else:
            self._unassigned.pop(node.name, None)
        return pool

    def _unfile(self, name: str) -> None:
        pool = self._pool_of.pop(name, None)
        if pool is not None:
            del self._members[pool][name]

    def _file_all(self) -> None:
        for member in list(self._standings.values()):
            self._file(member)

    def _forget(self, name: str) -> None:
        self._unfile(name)
        self._unassigned.pop(name, None)
        del self._seen[name]
        del self._standings[name]
