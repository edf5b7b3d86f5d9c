"""Puts descriptions into a schema.

A table's key is the path of a field below the object, in which lists and maps are no step of their own
(`spec.containerFile.content`), or `*.` and the last part of paths (`*.matchLabels`). Of several that fit, the
longest counts. The empty path is the object itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from mco.api.variants import BELOW, Schema

Texts = Mapping[str, str]


def described(schema: Schema, texts: Texts, path: str = "") -> Schema:
    """A copy of the schema of what stands at that path, in which every field with a text has it."""
    text = text_of(path, texts)
    return {"description": text, **_inside(schema, texts, path)} if text else _inside(schema, texts, path)


def text_of(path: str, texts: Texts) -> str:
    if path in texts:
        return texts[path]
    parts = path.split(".")
    suffixes = ("*." + ".".join(parts[start:]) for start in range(len(parts)))
    return next((texts[suffix] for suffix in suffixes if suffix in texts), "")


def _inside(schema: Schema, texts: Texts, path: str) -> Schema:
    node = dict(schema)
    if "properties" in node:
        node["properties"] = {
            name: described(sub, texts, f"{path}.{name}" if path else name)
            for name, sub in node["properties"].items()
        }
    for word in BELOW:
        if isinstance(node.get(word), dict):
            node[word] = _inside(node[word], texts, path)
    return node
