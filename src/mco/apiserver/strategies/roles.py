"""Roles and their bindings (rbac.authorization.k8s.io)."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api.meta.objects import LabelSelector
from mco.api.meta.selectors import selector
from mco.api.schema import Schema, atomic, string, struct
from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.strategies import names
from mco.apiserver.strategies.schemas import SELECTOR
from mco.apiserver.strategies.selectors import selector_causes
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer
from mco.base.errors import MCOError

_GROUP = "rbac.authorization.k8s.io"
_STRINGS = atomic(string())
_RULES = atomic(
    struct(
        {
            "apiGroups": _STRINGS,
            "nonResourceURLs": _STRINGS,
            "resourceNames": _STRINGS,
            "resources": _STRINGS,
            "verbs": _STRINGS,
        }
    )
)
_REFERENCE = struct({"apiGroup": string(), "kind": string(), "name": string()})
_SUBJECT = struct({**_REFERENCE["properties"], "namespace": string()})
_BINDING: Schema = struct({"roleRef": _REFERENCE, "subjects": atomic(_SUBJECT)})


class _RoleStrategy(Strategy):
    namespaced = True

    def name_errors(self, name: str) -> list[str]:
        return names.path_segment_errors(name)

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        new.setdefault("rules", None)

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        causes: list[Cause] = []
        for index, rule in enumerate(new.get("rules") or ()):
            causes += _rule(rule, f"rules[{index}]", namespaced=self.namespaced)
        return causes


class RoleStrategy(_RoleStrategy):
    schema = struct({"rules": _RULES})


class ClusterRoleStrategy(_RoleStrategy):
    schema = struct({"aggregationRule": struct({"clusterRoleSelectors": atomic(SELECTOR)}), "rules": _RULES})
    namespaced = False

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        causes = super().validate(new, old)
        if new.get("aggregationRule") is None:
            return causes
        field = "aggregationRule.clusterRoleSelectors"
        selectors = new["aggregationRule"].get("clusterRoleSelectors")
        if not selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            causes.append(errors.required(field, detail))
        for index, wanted in enumerate(selectors or ()):
            causes += selector_causes(wanted, f"{field}[{index}]")
            try:
                selector(msgspec.convert(wanted, LabelSelector))
            except (MCOError, msgspec.ValidationError):
                # The original shows what came of it: nothing.
                detail = "invalid label selector."
                causes.append(errors.invalid_value(f"{field}[{index}]", None, detail))
        return causes


def _rule(rule: Obj, field: str, *, namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    if not rule.get("verbs"):
        causes.append(errors.required(f"{field}.verbs", "verbs must contain at least one value"))
    paths = rule.get("nonResourceURLs")
    if paths:
        if namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            causes.append(errors.invalid_value(f"{field}.nonResourceURLs", paths, detail))
        if any(rule.get(word) for word in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            causes.append(errors.invalid_value(f"{field}.nonResourceURLs", paths, detail))
        return causes
    if not rule.get("apiGroups"):
        detail = "resource rules must supply at least one api group"
        causes.append(errors.required(f"{field}.apiGroups", detail))
    if not rule.get("resources"):
        detail = "resource rules must supply at least one resource"
        causes.append(errors.required(f"{field}.resources", detail))
    return causes


class BindingStrategy(Strategy):
    """Of Roles and of ClusterRoles; `kinds` are those of the roles that it may grant."""

    schema = _BINDING

    def __init__(self, *kinds: str) -> None:
        super().__init__()
        self._kinds = kinds

    def name_errors(self, name: str) -> list[str]:
        return names.path_segment_errors(name)

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        role = new.setdefault("roleRef", {})
        role.setdefault("apiGroup", _GROUP)
        for subject in new.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", _GROUP)

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        role: dict[str, Any] = new["roleRef"]
        causes: list[Cause] = []
        if role["apiGroup"] != _GROUP:
            causes.append(errors.not_supported("roleRef.apiGroup", role["apiGroup"], (_GROUP,)))
        if role.get("kind") not in self._kinds:
            causes.append(errors.not_supported("roleRef.kind", role.get("kind", ""), self._kinds))
        if not role.get("name"):
            causes.append(errors.required("roleRef.name"))
        else:
            problems = names.path_segment_errors(role["name"])
            causes += [errors.invalid_value("roleRef.name", role["name"], problem) for problem in problems]
        for index, subject in enumerate(new.get("subjects") or ()):
            causes += self._subject(subject, f"subjects[{index}]")
        if old is not None and old["roleRef"] != role:
            causes.append(errors.invalid_value("roleRef", role, "cannot change roleRef"))
        return causes

    def _subject(self, subject: Obj, field: str) -> list[Cause]:
        causes: list[Cause] = []
        kind, group = subject.get("kind", ""), subject.get("apiGroup", "")
        if not subject.get("name"):
            causes.append(errors.required(f"{field}.name"))
        match kind:
            case "ServiceAccount":
                if group:
                    causes.append(errors.not_supported(f"{field}.apiGroup", group, ("",)))
                if "Role" not in self._kinds and not subject.get("namespace"):
                    causes.append(errors.required(f"{field}.namespace"))
            case "User" | "Group":
                if group != _GROUP:
                    causes.append(errors.not_supported(f"{field}.apiGroup", group, (_GROUP,)))
            case _:
                allowed = ("Group", "ServiceAccount", "User")
                causes.append(errors.not_supported(f"{field}.kind", kind, allowed))
        return causes
