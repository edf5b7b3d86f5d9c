"""All resources that are served now. A change of a CustomResourceDefinition replaces its entries."""

from __future__ import annotations

from collections.abc import Iterator

from mco.apiserver.registry.builtin import built_in
from mco.apiserver.registry.served import Served
from mco.apiserver.strategies.definitions import Used


class Catalog:
    """Looked up by group, version and plural; iterated in the order of discovery."""

    def __init__(self) -> None:
        self._built_in = tuple(built_in(self.taken))
        self._custom: dict[str, tuple[Served, ...]] = {}
        self._index: dict[tuple[str, str, str], Served] = {}
        self.generation = 0
        self._rebuild()

    def find(self, group: str, version: str, plural: str) -> Served | None:
        return self._index.get((group, version, plural))

    def of_resource(self, resource: str) -> Served | None:
        """Any version of the resource filed under `plural.group`."""
        return next((served for served in self if served.resource == resource), None)

    def of_kind(self, group: str, kind: str) -> Served | None:
        return next((s for s in self if s.group == group and s.kind == kind), None)

    def define(self, name: str, versions: tuple[Served, ...]) -> None:
        """Serves the versions of the CustomResourceDefinition `name` from now on; none: no longer."""
        if versions:
            self._custom[name] = versions
        elif self._custom.pop(name, None) is None:
            return
        self._rebuild()

    def taken(self, group: str, definition: str) -> Used:
        """The names that the definition of that name cannot have."""
        others = [
            served
            for name, versions in self._custom.items()
            if name != definition
            for served in versions
            if served.group == group
        ]
        others += [served for served in self._built_in if served.group == group]
        resources = (name for s in others for name in (s.plural, s.singular, *s.short_names))
        kinds = (name for s in others for name in (s.kind, s.list_kind))
        return Used(frozenset(resources), frozenset(kinds))

    def __iter__(self) -> Iterator[Served]:
        return iter(self._index.values())

    def groups(self) -> dict[str, list[str]]:
        """Each group with its versions, the preferred one first; the legacy group is the empty text."""
        result: dict[str, list[str]] = {}
        for served in self:
            versions = result.setdefault(served.group, [])
            if served.version not in versions:
                versions.append(served.version)
        return result

    def _rebuild(self) -> None:
        custom = [served for name in sorted(self._custom) for served in self._custom[name]]
        self._index = {(s.group, s.version, s.plural): s for s in (*self._built_in, *custom)}
        self.generation += 1
