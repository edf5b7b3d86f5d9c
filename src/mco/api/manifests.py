"""Documents as objects: what `mco render`, `mco validate` and the bootstrap read from files.

`read` never stops at the first problem: it returns the objects that could be read and a finding for
everything else, each with the object's name and place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from mco.api import fields, names
from mco.api.controllerconfig import ControllerConfig
from mco.api.findings import Finding
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import Object
from mco.api.yaml import Document

T = TypeVar("T", bound=Object)

_OF_THE_GROUP = frozenset(
    (
        *("MachineConfig", "MachineConfigPool", "ControllerConfig", "KubeletConfig"),
        *("ContainerRuntimeConfig", "MachineConfigNode", "MachineOSConfig", "MachineOSBuild"),
        *("PinnedImageSet", "OSImageStream", "InternalReleaseImage"),
    )
)
"""Kinds that stand in manifests beside those that are read here."""

_INDEX = re.compile(r"\[([0-9]+)\]")

_TYPES: Mapping[str, type[Object]] = {
    "MachineConfig": MachineConfig,
    "MachineConfigPool": MachineConfigPool,
    "ControllerConfig": ControllerConfig,
}


class Manifests(msgspec.Struct, frozen=True):
    """The objects of all documents in their order, where they stand, and what was wrong with the rest."""

    machine_configs: tuple[MachineConfig, ...] = ()
    pools: tuple[MachineConfigPool, ...] = ()
    controller_configs: tuple[ControllerConfig, ...] = ()
    others: tuple[dict[str, Any], ...] = ()
    places: Mapping[str, str] = {}
    findings: tuple[Finding, ...] = ()

    def place(self, subject: str) -> str:
        """Where the object `Kind/name` stands; empty for one that no document holds."""
        return self.places.get(subject, "")

    @property
    def controller_config(self) -> ControllerConfig:
        """The singleton, else any that is there, else an empty one, which knows no images."""
        by_name = {config.name: config for config in reversed(self.controller_configs)}
        return by_name.get(names.CONTROLLER_CONFIG) or next(reversed(by_name.values()), ControllerConfig())


def read(documents: Iterable[Document]) -> Manifests:
    """Reads all documents, taking lists apart; an object that stands twice is an error naming both places."""
    reader = _Reader()
    for document in documents:
        for item in items(document):
            reader.add(item)
    return reader.manifests()


def _misspelt(value: Mapping[str, Any], place: str) -> Iterator[Finding]:
    """A foreign object is nobody's mistake; one that is nearly ours would be left out without a word."""
    version, kind = value["apiVersion"], value["kind"]
    subject = f"{kind}/{_name(value)}"
    if version == names.API_VERSION and kind not in _OF_THE_GROUP:
        yield Finding(
            level="warning",
            subject=subject,
            path="$.kind",
            message=f'no kind "{kind}" in version "{version}": the object is ignored',
            hint=f"kinds that are read: {', '.join(sorted(_TYPES))}",
            place=place,
        )
    elif version != names.API_VERSION and (kind in _TYPES or version.startswith(f"{names.GROUP}/")):
        yield Finding(
            level="warning",
            subject=subject,
            path="$.apiVersion",
            message=f'no kind "{kind}" in version "{version}": the object is ignored',
            hint=f"write apiVersion: {names.API_VERSION}",
            place=place,
        )


def items(document: Document) -> Iterator[Document]:
    """The objects of a document: those of a list each with the document's place, else the document itself."""
    value = document.value
    if not isinstance(value, dict) or not str(value.get("kind", "")).endswith("List"):
        yield document
        return
    listed = value.get("items")
    if not isinstance(listed, list):
        yield document
        return
    # Items of a typed list may leave out what the list says already.
    kind = str(value["kind"]).removesuffix("List")
    implied = {"apiVersion": value.get("apiVersion"), "kind": kind} if kind else {}
    for item in listed:
        whole = implied | item if isinstance(item, dict) else item
        yield from items(Document(whole, document.source, document.line))


class _Reader:
    def __init__(self) -> None:
        self._objects: dict[str, list[Any]] = {kind: [] for kind in _TYPES}
        self._others: list[dict[str, Any]] = []
        self._places: dict[str, str] = {}
        self._findings: list[Finding] = []

    def manifests(self) -> Manifests:
        return Manifests(
            machine_configs=tuple(self._objects["MachineConfig"]),
            pools=tuple(self._objects["MachineConfigPool"]),
            controller_configs=tuple(self._objects["ControllerConfig"]),
            others=tuple(self._others),
            places=self._places,
            findings=tuple(self._findings),
        )

    def add(self, document: Document) -> None:
        value, place = document.value, document.place
        if not isinstance(value, dict):
            self._error(
                document.source, "the document is not an object", place, "write apiVersion, kind, ..."
            )
            return
        if not isinstance(value.get("kind"), str) or not isinstance(value.get("apiVersion"), str):
            missing = " and ".join(
                key for key in ("apiVersion", "kind") if not isinstance(value.get(key), str)
            )
            self._error(document.source, f"{missing} not set", place, "every object needs both, as text")
            return
        kind = value["kind"]
        if value["apiVersion"] != names.API_VERSION or kind not in _TYPES:
            self._others.append(value)
            self._findings.extend(_misspelt(value, place))
            return
        subject = f"{kind}/{_name(value)}"
        made = self._decode(_TYPES[kind], value, subject, place)
        if made is None:
            return
        if not made.name:
            hint = (
                "set metadata.name"
                if not made.metadata.generate_name
                else "set metadata.name, not generateName"
            )
            self._error(subject, "resource name may not be empty", place, hint, "$.metadata.name")
            return
        if subject in self._places:
            self._error(
                subject,
                f'{kind} "{made.name}" is defined twice: {self._places[subject]} and {place}',
                place,
                "rename or remove one of them",
                "$.metadata.name",
            )
            return
        self._places[subject] = place
        self._findings.extend(fields.unknown(value, subject, place))
        self._objects[kind].append(made)

    def _decode(self, wanted: type[T], value: dict[str, Any], subject: str, place: str) -> T | None:
        try:
            # Through JSON text: the Ignition config is kept as the bytes it was written with.
            return msgspec.json.decode(msgspec.json.encode(value), type=wanted)
        except msgspec.ValidationError as error:
            message, _, path = str(error).partition(" - at `")
            path = _INDEX.sub(r".\1", path.removesuffix("`"))
            self._error(subject, message, place, "", path)
        return None

    def _error(self, subject: str, message: str, place: str, hint: str, path: str = "") -> None:
        self._findings.append(
            Finding(level="error", subject=subject, path=path, message=message, hint=hint, place=place)
        )


def _name(value: Mapping[str, Any]) -> str:
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""
