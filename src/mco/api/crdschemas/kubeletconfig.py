"""KubeletConfig (spec/node.md 1.5)."""

from __future__ import annotations

from mco.api.gates import GOMAXPROCS, TLS_GROUPS
from mco.api.schema import (
    LABEL_SELECTOR,
    LOOSE_CONDITION,
    atomic,
    boolean,
    enum,
    free,
    int32,
    int64,
    string,
    struct,
    unique,
)
from mco.api.variants import gated

GOMAXPROCS_BEHAVIOR = gated(GOMAXPROCS, enum("Autosize", "Disabled"))

_TLS_VERSIONS = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")
_GROUPS = ("X25519", "secp256r1", "secp384r1", "secp521r1", "X25519MLKEM768")
_TLS_PROFILE = struct(
    {
        "custom": struct(
            {
                "ciphers": atomic(string()),
                "groups": gated(TLS_GROUPS, unique(enum(*_GROUPS), minItems=1, maxItems=5)),
                "minTLSVersion": enum(*_TLS_VERSIONS),
            },
            nullable=True,
        ),
        "intermediate": struct({}, nullable=True),
        "modern": struct({}, nullable=True),
        "old": struct({}, nullable=True),
        "type": enum("Old", "Intermediate", "Modern", "Custom"),
    }
)

KUBELET_CONFIG = struct(
    {
        "spec": struct(
            {
                "autoSizingReserved": boolean(),
                "kubeletConfig": free(),
                "logLevel": int32(minimum=0, maximum=10),
                "machineConfigPoolSelector": LABEL_SELECTOR,
                "systemGomaxprocsBehavior": GOMAXPROCS_BEHAVIOR,
                "tlsSecurityProfile": _TLS_PROFILE,
            }
        ),
        "status": struct({"conditions": atomic(LOOSE_CONDITION), "observedGeneration": int64()}),
    },
    required=("spec",),
)
