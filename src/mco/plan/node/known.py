"""What a decision of the node rests on: configs at hand or lost, and findings on the disk."""

from __future__ import annotations

from mco.plan.node import steps, target
from mco.plan.node.observation import Observation
from mco.plan.node.steps import AnyStep
from mco.plan.node.verify import Finding

BOOT_CHECK_FAILED = "OnDiskStateValidationFailed"
DRIFTED = "unexpected on-disk state"
PREFLIGHT_FAILED = "PreflightConfigDriftCheckFailed"


def pair(seen: Observation, old: str, new: str) -> tuple[target.Target, target.Target]:
    if old == target.EMPTY_NAME:
        return target.EMPTY, target.pair(seen.configs[new], seen.configs[new])[1]
    return target.pair(seen.configs[old], seen.configs[new])


def fetch(seen: Observation, *configs: str) -> AnyStep | None:
    unknown = [
        name
        for name in dict.fromkeys(configs)
        if name not in seen.configs and name not in seen.missing and name != target.EMPTY_NAME
    ]
    if not unknown:
        return None
    return steps.Fetch(configs=tuple(unknown), because="the decision depends on them")


def missing(seen: Observation, *configs: str) -> str:
    return next((seen.missing[name] for name in configs if name in seen.missing), "")


def lost_config(seen: Observation, text: str) -> AnyStep:
    return steps.Degrade(text=text, because=f"a config of node {seen.node.current or 'unknown'} is missing")


def drifted(config: str, findings: tuple[Finding, ...], event: str) -> AnyStep:
    text = f"{DRIFTED} validating against {config}: {findings[0].message}"
    return steps.Degrade(text=text, event=event, because=f"the machine is not what {config} says")
