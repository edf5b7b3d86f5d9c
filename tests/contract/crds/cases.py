"""What the definitions of our kinds accept and refuse, as data: the steps that an object goes through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Body = dict[str, Any]
Verb = Literal["create", "update", "status"]


class Step(msgspec.Struct, frozen=True):
    """`body` is the new spec, for `status` the new status; None removes it. `error` is a part of the refusal,
    empty for what is accepted; `field` is where it lies. `expect` are values by their path afterwards."""

    verb: Verb
    body: Body | None
    error: str = ""
    field: str = ""
    expect: Mapping[str, Any] = {}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`stale`: the object is older than the schema, its first step met no validation."""

    id: str
    kind: str
    steps: tuple[Step, ...]
    name: str = ""
    version: str = "v1"
    stale: bool = False

    @property
    def object_name(self) -> str:
        return self.name or NAMES.get(self.kind, "case")


NAMES = {
    "MachineConfigNode": "node-0",
    "MachineOSConfig": "worker",
    "OSImageStream": "cluster",
    "InternalReleaseImage": "cluster",
    "MachineConfiguration": "cluster",
}
"""Names that a kind's rules demand."""


class Kind(msgspec.Struct, frozen=True):
    """Makes the cases of one kind."""

    kind: str
    version: str = "v1"

    def accepted(self, title: str, spec: Body | None, **expect: Any) -> Case:
        return self.steps(title, Step("create", spec, expect=_paths(expect)))

    def refused(self, title: str, spec: Body | None, error: str, field: str = "", **more: Any) -> Case:
        return self.steps(title, Step("create", spec, error, field), **more)

    def status(self, title: str, spec: Body, status: Body, error: str = "", field: str = "") -> Case:
        return self.steps(title, Step("create", spec), Step("status", status, error, field))

    def update(self, title: str, before: Body, after: Body, error: str = "", field: str = "") -> Case:
        return self.steps(title, Step("create", before), Step("update", after, error, field))

    def steps(self, title: str, *steps: Step, **more: Any) -> Case:
        return Case(id=f"{self.kind}: {title}", kind=self.kind, version=self.version, steps=steps, **more)


def _paths(expect: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments cannot have dots: two underscores stand for one."""
    return {name.replace("__", "."): value for name, value in expect.items()}


def value_at(obj: Any, path: str) -> Any:
    """The value at a path as `spec.list.0.name`; None when there is none."""
    for part in path.split("."):
        if isinstance(obj, list):
            obj = obj[int(part)]
        else:
            obj = (obj or {}).get(part)
    return obj
