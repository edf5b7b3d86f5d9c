"""Namespaces: kept by a finalizer in their spec until they are empty."""

from __future__ import annotations

from mco.apiserver.strategies import names, schemas
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer

RESOURCE = "namespaces"
IMMORTAL = ("default", "kube-system", "kube-public")
NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"


class NamespaceStrategy(Strategy):
    schema = schemas.NAMESPACE
    has_status = True

    def name_errors(self, name: str) -> list[str]:
        return names.label_errors(name)

    def take(self, subresource: str, sent: Obj, new: Obj) -> None:
        if subresource == "finalize":
            new["spec"] = sent.get("spec") or {}
        else:
            super().take(subresource, sent, new)

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        if old is None:
            new["spec"] = {"finalizers": [_FINALIZER]}
            new["status"] = {"phase": "Active"}
        elif subresource != "finalize":
            new["spec"] = old["spec"]
        new["metadata"].setdefault("labels", {})[NAME_LABEL] = new["metadata"].get("name", "")

    def held(self, obj: Obj) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))

    def mark(self, obj: Obj) -> None:
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
