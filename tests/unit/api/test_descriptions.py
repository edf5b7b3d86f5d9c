"""What `kubectl explain` can say of our kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mco.api.crds import DEFINITIONS, Definition, definitions
from mco.api.descriptions.apply import described, text_of
from mco.api.descriptions.shared import SHARED

TEXTS = {"": "Whole.", "a": "A.", "*.c": "Any c.", "*.b.c": "C of a b.", "a.b.c": "This c."}
WRITTEN = {
    "MachineConfig",
    "MachineConfigPool",
    "MachineConfiguration",
    "KubeletConfig",
    "ContainerRuntimeConfig",
    "PinnedImageSet",
    "MachineOSConfig",
}
"""Kinds whose spec people write."""
kinds = pytest.mark.parametrize("definition", DEFINITIONS, ids=[each.kind for each in DEFINITIONS])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", "Whole."),
        ("a", "A."),
        ("a.b", ""),
        ("a.b.c", "This c."),
        ("x.b.c", "C of a b."),
        ("x.c", "Any c."),
        ("c", "Any c."),
        ("x.cc", ""),
    ],
)
def test_the_longest_key_counts(path: str, text: str) -> None:
    assert text_of(path, TEXTS) == text


def test_lists_and_maps_are_no_step() -> None:
    leaf = {"type": "object", "properties": {"c": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {
            "l": {"type": "array", "items": leaf},
            "m": {"type": "object", "additionalProperties": leaf},
        },
    }
    made = described(schema, {"l": "L.", "l.c": "C of l.", "m.c": "C of m."})
    of_list, of_map = made["properties"]["l"], made["properties"]["m"]
    assert of_list["description"] == "L." and "description" not in of_list["items"]
    assert of_list["items"]["properties"]["c"]["description"] == "C of l."
    assert of_map["additionalProperties"]["properties"]["c"]["description"] == "C of m."
    assert "description" not in str(schema)


def _fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, sub in (schema.get("properties") or {}).items():
        below = f"{path}.{name}" if path else name
        yield below, sub
        yield from _fields(sub, below)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from _fields(schema[word], path)


def _schemas(definition: Definition) -> Iterator[dict[str, Any]]:
    (body,) = definitions([definition])
    for version in body["spec"]["versions"]:
        yield version["schema"]["openAPIV3Schema"]


@kinds
def test_every_field_that_matters_is_described(definition: Definition) -> None:
    """The object, what stands directly below spec and status, and all that people write."""
    for schema in _schemas(definition):
        assert schema["description"]
        for path, field in _fields(schema):
            part, _, rest = path.partition(".")
            needed = part in ("spec", "status") and (
                "." not in rest or (part == "spec" and definition.kind in WRITTEN)
            )
            assert not needed or field.get("description"), path


@kinds
def test_no_text_is_for_nothing(definition: Definition) -> None:
    (schema, *_) = _schemas(definition)
    used = {"", *(path for path, _ in _fields(schema))}
    for key in set(definition.texts) - set(SHARED):
        suffix = key.removeprefix("*")
        assert key in used or (suffix != key and any(f".{path}".endswith(suffix) for path in used)), key


@kinds
def test_texts_are_sentences(definition: Definition) -> None:
    for text in definition.texts.values():
        assert text.strip() == text and text.endswith(".") and "\n" not in text
