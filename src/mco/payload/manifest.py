"""One object of an install payload, and a folder of them in the order in which they count
(spec/operator.md 6.1, 6.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from mco.api.yaml import Document, load_documents
from mco.base.errors import InvalidInput

DELETE = "release.openshift.io/delete"
CREATE_ONLY = "release.openshift.io/create-only"

_LEVEL = re.compile(r"^0000_(\d+)_([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*?)_")
_EXTENSIONS = (".yaml", ".yml", ".json")


class Identity(msgspec.Struct, frozen=True):
    """What makes an object the same object."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f'{self.kind.lower()} "{place}"'


class Manifest(msgspec.Struct, frozen=True):
    """`file` is the file's name, `line` where the document starts, `body` the object."""

    file: str
    line: int
    body: Mapping[str, Any]

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.line}"

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def group(self) -> str:
        group, slash, _ = str(self.body["apiVersion"]).rpartition("/")
        return group if slash else ""

    @property
    def identity(self) -> Identity:
        metadata = self.body["metadata"]
        return Identity(self.group, self.kind, metadata.get("namespace") or "", metadata["name"])

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.body["metadata"].get("annotations") or {}

    @property
    def level(self) -> tuple[int, str] | None:
        """Run-level and component, from the file's name; None for a name without them."""
        found = _LEVEL.match(self.file)
        return (int(found[1]), found[2]) if found else None

    @property
    def deletes(self) -> bool:
        """Whether the object is to be removed. Raises InvalidInput for any value but "true"."""
        value = self.annotations.get(DELETE)
        if value not in (None, "true"):
            raise InvalidInput(
                f'{DELETE} is "{value}"',
                subject=str(self.identity),
                path=f"$.metadata.annotations['{DELETE}']",
                hint=f'it can only be "true" ({self.place})',
            )
        return value == "true"

    @property
    def create_only(self) -> bool:
        return self.annotations.get(CREATE_ONLY, "").lower() == "true"


def read(files: Mapping[str, bytes]) -> list[Manifest]:
    """The manifests of a folder, files by the bytes of their names. Raises InvalidInput with file and line:
    text that is no YAML, a document without kind or name, an object that stands twice in one file."""
    manifests: list[Manifest] = []
    for name in sorted(files, key=str.encode):
        if name.endswith(_EXTENSIONS):
            found = [_manifest(name, document) for document in _objects(load_documents(files[name], name))]
            _refuse_twins(found)
            manifests += found
    return manifests


def _objects(documents: Iterable[Document]) -> Iterable[Document]:
    """A List stands for its items."""
    for document in documents:
        value = document.value
        if isinstance(value, dict) and value.get("kind") == "List":
            yield from (Document(item, document.source, document.line) for item in value.get("items") or ())
        else:
            yield document


def _manifest(name: str, document: Document) -> Manifest:
    body = document.value
    metadata = body.get("metadata") if isinstance(body, dict) else None
    for path, found in (
        ("$.apiVersion", body.get("apiVersion") if isinstance(body, dict) else None),
        ("$.kind", body.get("kind") if isinstance(body, dict) else None),
        ("$.metadata.name", metadata.get("name") if isinstance(metadata, dict) else None),
    ):
        if not isinstance(found, str) or not found:
            raise InvalidInput(
                f"{document.place}: {path.removeprefix('$.')} is not set", subject=name, path=path
            )
    assert isinstance(body, dict)
    return Manifest(name, document.line, body)


def _refuse_twins(manifests: Sequence[Manifest]) -> None:
    seen: dict[Identity, Manifest] = {}
    for manifest in manifests:
        first = seen.setdefault(manifest.identity, manifest)
        if first is not manifest:
            raise InvalidInput(
                f"{manifest.identity} stands twice: {first.place} and {manifest.place}",
                subject=manifest.file,
                hint="remove one of them",
            )
