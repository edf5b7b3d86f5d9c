"""MachineConfig (spec/node.md 1.2)."""

from __future__ import annotations

from mco.api.schema import atomic, boolean, free, string, struct

MACHINE_CONFIG = struct(
    {
        "spec": struct(
            {
                "baseOSExtensionsContainerImage": string(),
                "config": free(),
                "extensions": atomic(string()),
                "fips": boolean(),
                "kernelArguments": atomic(string(), nullable=True),
                "kernelType": string(),
                "osImageURL": string(),
            }
        )
    }
)
