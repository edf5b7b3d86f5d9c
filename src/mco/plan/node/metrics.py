"""What a daemon tells Prometheus, from what its Node says (spec/operator.md 5.2).

Left out is what this daemon does not do: no operating system image is written (`mcd_pivot_errors_total`,
`mcd_local_unsupported_packages`), and nobody asks the kubelet how it is (`mcd_kubelet_state`).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mco.api import names
from mco.plan.metrics import Family, Kind, Metric, single
from mco.plan.node.known import DRIFTED
from mco.plan.node.observation import Annotations

HOST = Metric("mcd_host_os_and_version", "1 for the operating system that runs", ("os", "version"))
STATE = Metric("mcd_state", "Since when the node is in its state, in Unix seconds", ("state", "reason"))
UPDATE = Metric(
    "mcd_update_state", "When the last update ended, and how, in Unix seconds; 0 for none", ("config", "err")
)
DRIFT = Metric("mcd_config_drift", "When the disk was found changed, in Unix seconds; 0 while it is not")
REBOOTS_FAILED = Metric("mcd_reboots_failed_total", "Reboots that the machine refused", kind=Kind.COUNTER)

METRICS = (HOST, STATE, UPDATE, DRIFT, REBOOTS_FAILED)


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the Node said so far, with times in Unix seconds: its `state` and the reason; how the last
    `update` ended, as a config or an error; when the disk was found to have `drifted`, 0 for one that has
    not."""

    state: tuple[str, str] = ("", "")
    since: float = 0.0
    config: str = ""
    update: tuple[str, str] = ("", "")
    ended: float = 0.0
    drifted: float = 0.0


def after(told: Told, node: Annotations, now: float) -> Told:
    """With what the Node says now."""
    state = (node.state, node.reason if node.failing else "")
    if state == told.state and node.current == told.config:
        return told
    since = told.since if state == told.state else now
    told = msgspec.structs.replace(told, state=state, since=since, config=node.current)
    if DRIFTED in state[1]:
        return msgspec.structs.replace(told, drifted=told.drifted or now)
    if node.state == names.STATE_DONE:
        return msgspec.structs.replace(
            told, update=(f"MachineConfig: {node.current}", ""), ended=now, drifted=0.0
        )
    if node.failing and node.current != node.desired:
        return msgspec.structs.replace(told, update=("", node.reason), ended=now)
    return told


def families(told: Told, system: tuple[str, str], reboots_failed: int) -> Iterator[Family]:
    """All of `METRICS`. `system`: the operating system's id and version, as os-release has them."""
    name, version = system
    yield Family(HOST, {(name.upper(), version): 1.0})
    yield Family(STATE, {told.state: told.since} if told.state[0] else {})
    yield Family(UPDATE, {told.update: told.ended})
    yield single(DRIFT, told.drifted)
    yield single(REBOOTS_FAILED, float(reboots_failed))
