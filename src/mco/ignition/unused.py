"""Warnings about keys that no field has, spelled as the original spells fields: exactly."""

from __future__ import annotations

from typing import Any

from mco.ignition.document import Document, Node
from mco.ignition.report import ROOT, Entry
from mco.ignition.schema import Kind
from mco.ignition.shapes import is_nullable, known


def unused_keys(document: Document, struct: type, value: dict[str, Any], minor: int) -> tuple[Entry, ...]:
    """The warnings for a document that was read into `value`, in the order of the text."""
    walk = _Walk(document, minor)
    walk.visit(struct, value, document.root, ROOT)
    return tuple(walk.entries)


class _Walk:
    def __init__(self, document: Document, minor: int) -> None:
        self.entries: list[Entry] = []
        self._document = document
        self._minor = minor

    def visit(self, struct: type, value: dict[str, Any], node: Node, path: str) -> None:
        if node.kind != "object":
            message = (
                f"context tree does not match content tree at {path}. "
                "Line and column reporting may be inconsistent. Unused keys may not be reported"
            )
            self._warn(path, message, node.mark)
            return
        present = known(struct, self._minor)
        self._members(node, {field.key for field in present}, path)
        for field in present:
            child = node.child(field.key)
            if child is None or (child.kind == "null" and is_nullable(struct, field, self._minor)):
                continue
            at = f"{path}.{field.key}"
            if field.kind is Kind.STRUCT:
                self.visit(field.type, value.get(field.key, {}), child, at)
            elif field.kind is Kind.STRUCTS:
                pairs = zip(value.get(field.key, ()), child.items, strict=False)
                for index, (item, part) in enumerate(pairs):
                    self.visit(field.type, item, part, f"{at}.{index}")

    def _members(self, node: Node, keys: set[str], path: str) -> None:
        seen = set(keys)
        for key, start, _ in node.members:
            if key not in seen:
                seen.add(key)
                self._warn(f"{path}.{key}", f"unused key {key}", start)

    def _warn(self, path: str, message: str, index: int) -> None:
        self.entries.append(Entry("warn", path, message, *self._document.position(index)))
