"""ContainerRuntimeConfig (spec/node.md 1.6)."""

from __future__ import annotations

from mco.api.crdschemas.kubeletconfig import GOMAXPROCS_BEHAVIOR
from mco.api.formats import store_path
from mco.api.gates import ADDITIONAL_STORAGE
from mco.api.schema import (
    LABEL_SELECTOR,
    LOOSE_CONDITION,
    atomic,
    enum,
    int64,
    quantity,
    rule,
    string,
    struct,
)
from mco.api.variants import Marked, gated


def _stores(field: str, most: int) -> Marked:
    once = rule(
        "self.all(x, self.exists_one(y, x.path == y.path))", f"{field} must not contain duplicate paths"
    )
    store = struct({"path": store_path()}, required=("path",))
    return gated(ADDITIONAL_STORAGE, atomic(store, minItems=1, maxItems=most, rules=[once]))


_MOST_STORES = {"additionalArtifactStores": 10, "additionalImageStores": 10, "additionalLayerStores": 5}

CONTAINER_RUNTIME_CONFIG = struct(
    {
        "spec": struct(
            {
                "containerRuntimeConfig": struct(
                    {
                        **{field: _stores(field, most) for field, most in _MOST_STORES.items()},
                        "containerGomaxprocsBehavior": GOMAXPROCS_BEHAVIOR,
                        "defaultRuntime": enum("crun", "runc"),
                        "logLevel": string(),
                        "logSizeMax": quantity(),
                        "overlaySize": quantity(),
                        "pidsLimit": int64(),
                    }
                ),
                "machineConfigPoolSelector": LABEL_SELECTOR,
            },
            required=("containerRuntimeConfig",),
        ),
        "status": struct({"conditions": atomic(LOOSE_CONDITION), "observedGeneration": int64()}),
    },
    required=("spec",),
)
