"""The proof of a rollout, read inside each machine after its last boot and compared with what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mco.base.errors import MCOError
from mco.fleet.hosts import Machine
from mco.ignition import dataurl
from mco.ignition.types import Config, File, PasswdUser


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at. `seen` is what the machine says, `good` whether it is what was asked."""

    machine: str
    what: str
    seen: str
    good: bool


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine has to show. `boot_before` is its boot id before the rollout, `key` the private half of
    an SSH key that the rollout brought, empty where there is no SSH server to log in to."""

    config: Config
    kernel_arguments: tuple[str, ...]
    boot_before: str
    key: str = ""


async def collect(machines: Sequence[Machine], asked: Mapping[str, Asked]) -> list[Finding]:
    findings: list[Finding] = []
    for machine in machines:
        try:
            findings += await _machine(machine, asked[machine.name])
        except MCOError as error:
            findings.append(Finding(machine=machine.name, what="machine", seen=str(error), good=False))
    return findings


async def _machine(machine: Machine, asked: Asked) -> list[Finding]:
    findings = [await _file(machine, file) for file in asked.config.storage.files]
    for unit in asked.config.systemd.units:
        facts = await machine.unit(unit.name)
        dropins = {path.rpartition("/")[2] for path in facts.dropins}
        good = facts.active == "active" and {d.name for d in unit.dropins} <= dropins
        if unit.enabled is not None:
            good = good and (facts.enabled == "enabled") is unit.enabled
        seen = ", ".join((facts.active, facts.enabled, *sorted(dropins)))
        findings.append(_found(machine, f"unit {unit.name}", seen, good))
    line = await machine.kernel_arguments()
    good = all(argument in line.split() for argument in asked.kernel_arguments)
    findings.append(_found(machine, "kernel arguments", line, good))
    boot = await machine.boot_id()
    findings.append(_found(machine, "boot id", f"{asked.boot_before} -> {boot}", boot != asked.boot_before))
    findings += [await _keys(machine, user) for user in asked.config.passwd.users]
    if asked.key:
        user = await machine.login(asked.key)
        findings.append(_found(machine, "SSH login", f"as {user}", user == "core"))
    return findings


async def _file(machine: Machine, file: File) -> Finding:
    facts = await machine.file(file.path)
    wanted = dataurl.decode(file.contents.source or "data:,", file.contents.compression)
    mode = f"{0o644 if file.mode is None else file.mode:04o}"
    owner = f"{file.user.name or 'root'}:{file.group.name or 'root'}"
    good = (facts.data, facts.mode, facts.owner) == (wanted, mode, owner)
    seen = f"{facts.mode} {facts.owner} {_preview(facts.data)}"
    return _found(machine, file.path, seen, good)


async def _keys(machine: Machine, user: PasswdUser) -> Finding:
    facts = await machine.file(f"/home/{user.name}/.ssh/authorized_keys.d/ignition")
    keys = facts.data.decode(errors="replace").splitlines()
    good = keys == list(user.ssh_authorized_keys)
    good = good and (facts.mode, facts.owner) == ("0600", f"{user.name}:{user.name}")
    seen = f"{facts.mode} {facts.owner} {len(keys)} keys: {', '.join(key.split()[-1] for key in keys)}"
    return _found(machine, f"SSH keys of {user.name}", seen, good)


def _preview(data: bytes) -> str:
    line = data.decode(errors="replace").strip().replace("\n", "\\n")
    return repr(line if len(line) <= 60 else line[:57] + "...")


def _found(machine: Machine, what: str, seen: str, good: bool) -> Finding:
    return Finding(machine=machine.name, what=what, seen=seen, good=good)


def table(findings: Sequence[Finding]) -> list[str]:
    """Lines for a person, by machine."""
    width = max((len(f.what) for f in findings), default=0)
    lines: list[str] = []
    machine = ""
    for finding in findings:
        if finding.machine != machine:
            machine = finding.machine
            lines.append(f"{machine}:")
        lines.append(f"  {'ok ' if finding.good else 'NOT'} {finding.what:{width}}  {finding.seen}")
    return lines
