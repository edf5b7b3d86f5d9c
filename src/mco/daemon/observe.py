"""Reads the disk's side of an observation, and compares the disk with a config."""

from __future__ import annotations

import msgspec

from mco.api import names
from mco.base.errors import HostError
from mco.daemon import facts, transaction
from mco.daemon.configs import name_of
from mco.host.journal import Journal
from mco.host.machine import Host
from mco.host.records import JournalState
from mco.plan.node.expectations import expectations
from mco.plan.node.observation import Disk, Verified
from mco.plan.node.target import Target
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.observe")

FIPS_FILE = "/proc/sys/crypto/fips_enabled"


def disk(host: Host, journal: Journal) -> Disk:
    """Raises HostError when the disk cannot be read, or the journal is damaged."""
    boot_id = host.boot_id()
    state: JournalState | None = journal.read()
    return Disk(
        boot_id=boot_id,
        recorded=name_of(host.root.read_optional(names.CURRENT_CONFIG_FILE)),
        initial=initial(host),
        forced=host.root.exists(names.FORCE_FILE),
        fips=fips(host),
        transaction=transaction.transaction(state, boot_id),
    )


def verify(host: Host, side: Target, before: Target | None) -> Verified:
    """Compares the machine with a config, running kernel arguments included."""
    return Verified(side.name, facts.differences(host, expectations(side, before=before)))


def enabled_units(side: Target) -> tuple[str, ...]:
    """Units that a config wants to run."""
    return tuple(unit.name for unit in side.config.systemd.units if unit.enabled and not unit.mask)


def failed_units(host: Host, units: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `units` that did not start, or died."""
    failed = host.systemd.failed()
    return tuple(name for name in units if name in failed)


def initial(host: Host) -> dict[str, str] | None:
    """The annotations that the node was served with, as long as it has not joined. Raises HostError for a
    damaged file."""
    raw = host.root.read_optional(names.NODE_ANNOTATIONS_FILE)
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise HostError(
            f"read {names.NODE_ANNOTATIONS_FILE}: {error}",
            path=names.NODE_ANNOTATIONS_FILE,
            hint="the config server wrote it at first boot; restore it or provision the machine again",
        ) from error


def fips(host: Host) -> bool | None:
    raw = host.root.read_optional(FIPS_FILE)
    return None if raw is None else raw.strip() == b"1"
