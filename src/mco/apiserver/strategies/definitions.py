"""CustomResourceDefinitions: checked whole before anything is served by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mco.apiserver.errors import Cause
from mco.apiserver.schema.decoding import undecodable
from mco.apiserver.strategies import schemas
from mco.apiserver.strategies.defined import definition_causes
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer


class Used(msgspec.Struct, frozen=True):
    """Names that the other definitions and the built-in kinds of a group have."""

    resources: frozenset[str]
    kinds: frozenset[str]


Taken = Callable[[str, str], Used]
"""(group, definition's name) to what that definition cannot have."""


class DefinitionStrategy(Strategy):
    schema = schemas.DEFINITION
    unconditional = False
    has_status = True
    counts = True

    def __init__(self, taken: Taken) -> None:
        super().__init__()
        self._taken = taken

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        spec = new.setdefault("spec", {})
        wanted = spec.setdefault("names", {})
        if kind := wanted.get("kind"):
            wanted.setdefault("listKind", f"{kind}List")
            wanted.setdefault("singular", kind.lower())
        spec.setdefault("conversion", {"strategy": "None"})
        for version in spec.get("versions") or ():
            version.setdefault("served", False)
            version.setdefault("storage", False)
        new["status"] = self._status(new, old, writer)

    def _status(self, new: Obj, old: Obj | None, writer: Writer) -> Obj:
        spec = new["spec"]
        before = (old or {}).get("status") or {}
        now = writer.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        used = self._taken(str(spec.get("group")), str(new["metadata"].get("name")))
        names, problem = _agreed(spec["names"], before.get("acceptedNames") or {}, used)
        accepted = ("True", "NoConflicts", "no conflicts found")
        established = ("True", "InitialNamesAccepted", "the initial names have been accepted")
        if problem[0]:
            accepted = ("False", *problem)
            if not _is_true(before, "Established"):
                established = ("False", "NotAccepted", "not all names are accepted")
        storage = [version.get("name") for version in spec.get("versions") or () if version["storage"]][:1]
        wanted = (("NamesAccepted", accepted), ("Established", established))
        return {
            "conditions": [_condition(before, kind, value, now) for kind, value in wanted],
            "acceptedNames": names or {"plural": "", "kind": ""},
            "storedVersions": list(dict.fromkeys([*(before.get("storedVersions") or ()), *storage])),
        }

    def misshapen(self, new: Obj) -> list[Cause]:
        if causes := super().misshapen(new):
            return causes
        schemas_of = (
            (version.get("schema") or {}).get("openAPIV3Schema")
            for version in (new.get("spec") or {}).get("versions") or ()
        )
        found = (undecodable(schema, "spec.versions.schema.openAPIV3Schema") for schema in schemas_of)
        return [Cause("", text, "") for texts in found for text in texts]

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        return definition_causes(new, old)


def _agreed(wanted: Obj, before: Obj, used: Used) -> tuple[Obj, tuple[str, str]]:
    """The names that can be had, and why not the others: reason and message, the last one counts."""
    accepted, problem = dict(before), ("", "")
    for name, taken in (
        ("plural", used.resources),
        ("singular", used.resources),
        ("shortNames", used.resources),
        ("kind", used.kinds),
        ("listKind", used.kinds),
    ):
        asked, had = wanted.get(name), before.get(name)
        known = had if isinstance(had, list) else [had]
        conflicts = [each for each in _listed(asked) if each not in known and each in taken]
        if conflicts:
            texts = [f'"{each}" is already in use' for each in conflicts]
            shown = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            problem = (f"{name[0].upper()}{name[1:]}Conflict", shown)
        elif asked is not None:
            accepted[name] = asked
        else:
            accepted.pop(name, None)
    accepted.pop("categories", None)
    if "categories" in wanted:
        accepted["categories"] = wanted["categories"]
    return accepted, problem


def _is_true(status: Obj, kind: str) -> bool:
    return any(c["type"] == kind and c["status"] == "True" for c in status.get("conditions") or ())


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _condition(before: Obj, kind: str, value: tuple[str, str, str], now: str) -> Obj:
    status, reason, message = value
    old: Obj = next((c for c in before.get("conditions") or () if c["type"] == kind), {})
    since = old["lastTransitionTime"] if old.get("status") == status else now
    return {
        "lastTransitionTime": since,
        "message": message,
        "reason": reason,
        "status": status,
        "type": kind,
    }
