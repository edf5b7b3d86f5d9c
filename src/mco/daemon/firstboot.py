"""Completes a first boot: what Ignition could not apply (spec/daemon.md 1.7).

The config server left the MachineConfig with an empty Ignition part on the disk. Its kernel arguments go
into the boot loader, the config is recorded, and the machine reboots; the daemon then finds the same
journal that any update leaves, and verifies. Nothing to do means no reboot.
"""

from __future__ import annotations

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig, MachineConfigSpec
from mco.base.errors import InvalidInput, MCOError
from mco.daemon import observe
from mco.daemon.perform import Performer
from mco.host.journal import Journal
from mco.host.machine import Host
from mco.ignition import types
from mco.plan.node import arguments, diff, disruption, update
from mco.plan.node.steps import UpdatePlan
from mco.plan.node.target import EMPTY_NAME, Target, target
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.firstboot")

BACKUP = f"{names.ENCAPSULATED_FILE}.bak"


def complete(host: Host) -> bool:
    """Whether the machine was asked to reboot. May be repeated after a failure or a crash at any point.
    Raises HostError, InvalidInput for a damaged file, and MCOError for a config that this machine cannot
    run."""
    raw = host.root.read_optional(names.ENCAPSULATED_FILE)
    if raw is None:
        _log.info("the first boot is complete")
        return False
    plan = _plan(host, _parse(raw))
    if plan.changes.empty:
        host.root.remove(names.ENCAPSULATED_FILE)
        _log.info("nothing to do at first boot", config=plan.new.name)
        return False
    journal = Journal(host.root)
    try:
        _perform(host, journal, plan, raw)
        host.root.write(BACKUP, raw, mode=0o600)
        host.root.remove(names.ENCAPSULATED_FILE)
        Performer(host, journal).reboot(plan.new.name)
    finally:
        journal.close()
    return True


def _perform(host: Host, journal: Journal, plan: UpdatePlan, raw: bytes) -> None:
    found = observe.disk(host, journal).transaction
    performer = Performer(host, journal)
    if found is not None and found.new == plan.new.name and found.old == EMPTY_NAME:
        performer.resume(plan, raw)
        return
    if found is not None:
        performer.undo("the machine was provisioned again", reboot=False)
    performer.begin(plan, raw)


def _parse(raw: bytes) -> Target:
    try:
        return target(msgspec.json.decode(raw, type=MachineConfig))
    except msgspec.MsgspecError as error:
        raise InvalidInput(
            f"the encapsulated MachineConfig cannot be read: {error}",
            path=names.ENCAPSULATED_FILE,
            hint="provision the machine again",
        ) from error


def _plan(host: Host, new: Target) -> UpdatePlan:
    """The machine as it stands is the old side: the arguments that run already need no reboot."""
    wanted = new.spec.kernel_arguments
    running = arguments.in_running_order(wanted, host.kernel.running()) if wanted else ()
    fips = observe.fips(host)
    spec = MachineConfigSpec(
        kernel_arguments=running,
        fips=new.spec.fips if fips is None else fips,
        # Images, kernel types and extensions need an image back end, which this machine does not have.
        os_image_url=new.spec.os_image_url,
        kernel_type=new.spec.kernel_type,
        extensions=new.spec.extensions,
    )
    old = Target(EMPTY_NAME, spec, types.EMPTY)
    changes = diff.compare(old, Target(new.name, new.spec, types.EMPTY))
    if changes.fips:
        raise MCOError(
            "detected change to FIPS flag; refusing to modify FIPS on a running cluster",
            subject=f"MachineConfig/{new.name}",
            path="$.spec.fips",
            hint="boot the machine in the FIPS mode that its config wants",
        )
    return UpdatePlan(
        old=old,
        new=new,
        changes=changes,
        actions=update.actions(old, Target(new.name, new.spec, types.EMPTY), changes),
        disruption=disruption.at_first_boot(old, new, changes),
    )
