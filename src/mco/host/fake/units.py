"""Units of a directory-rooted host that run, or would: no process is started.

A unit fails to start when its command is known to fail: `false`, or a shell told to exit with another status
than 0. As with systemd, that fails the job only for types that wait for it (all but `simple`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import msgspec

from mco.host.commands import Output
from mco.host.fake import offline, unitfiles
from mco.host.fake.state import StateFile, UnitState
from mco.host.fake.unitfiles import UnitFile
from mco.host.root import Root

_OK = Output(status=0)
_BOOT_TARGETS = ("sysinit", "local-fs", "basic", "sockets", "timers", "paths", "network-online", "multi-user")
_EXIT = re.compile(r"\s*exit\s+[1-9]\d*\s*")


class Units:
    def __init__(self, root: Root, state: StateFile) -> None:
        self._root = root
        self._state = state

    def job(self, verb: str, name: str) -> Output:
        """start, stop, restart or reload."""
        if verb == "stop":
            return self._stop(name)
        unit = unitfiles.find(self._root, name)
        if unit is None:
            return Output(status=5, stderr=f"Failed to {verb} {name}: Unit {name} not found.\n")
        if unit.masked:
            return Output(status=1, stderr=f"Failed to {verb} {name}: Unit {name} is masked.\n")
        return self._reload(unit) if verb == "reload" else self._start(unit, again=verb == "restart")

    def start_enabled(self) -> None:
        """What a boot does: every unit that a target of the boot wants, those that fail included."""
        for target in _BOOT_TARGETS:
            if unitfiles.find(self._root, f"{target}.target") is not None:
                self.job("start", f"{target}.target")
            for name in self._wanted(f"{target}.target"):
                self.job("start", name)

    def properties(self, name: str) -> dict[str, str]:
        unit = unitfiles.find(self._root, name)
        state = self._get(name)
        load = "not-found" if unit is None else "masked" if unit.masked else "loaded"
        return {
            "Id": name,
            "LoadState": load,
            "ActiveState": state.active,
            "SubState": state.sub,
            "Result": state.result,
            "FragmentPath": "" if unit is None or unit.masked else unit.path,
            "UnitFileState": "" if unit is None else offline.state(self._root, name) or "",
        }

    def failed(self) -> list[str]:
        return sorted(name for name, unit in self._state.read().units.items() if unit.active == "failed")

    def reset_failed(self, name: str) -> Output:
        state = self._get(name)
        if state.active != "failed":
            return Output(
                status=1, stderr=f"Failed to reset failed state of unit {name}: Unit {name} not loaded.\n"
            )
        self._state.set_unit(name, UnitState(starts=state.starts))
        return _OK

    def _get(self, name: str) -> UnitState:
        return self._state.read().units.get(name, UnitState())

    def _start(self, unit: UnitFile, again: bool) -> Output:
        name, old = unit.name, self._get(unit.name)
        if old.active == "active" and not again:
            return _OK
        kind = (unit.lines("Service", "Type") or ("simple",))[-1]
        starts = old.starts + 1
        if any(_fails(line) for key in ("ExecStartPre", "ExecStart") for line in unit.lines("Service", key)):
            failed = UnitState(active="failed", sub="failed", result="exit-code", starts=starts)
            self._state.set_unit(name, failed)
            if kind in ("simple", "idle"):
                return _OK
            text = f"Job for {name} failed because the control process exited with error code.\n"
            return Output(status=1, stderr=text)
        stays = (unit.lines("Service", "RemainAfterExit") or ("no",))[-1].lower() in (
            "yes",
            "true",
            "1",
            "on",
        )
        if kind == "oneshot" and not stays:
            new = UnitState(starts=starts)
        else:
            new = UnitState(active="active", sub=_sub_state(name, kind), starts=starts)
        self._state.set_unit(name, new)
        return _OK

    def _stop(self, name: str) -> Output:
        state = self._get(name)
        if unitfiles.find(self._root, name) is None and state.active == "inactive":
            return Output(status=5, stderr=f"Failed to stop {name}: Unit {name} not loaded.\n")
        if state.active == "active":
            self._state.set_unit(name, UnitState(starts=state.starts))
        return _OK

    def _reload(self, unit: UnitFile) -> Output:
        state = self._get(unit.name)
        if not unit.lines("Service", "ExecReload"):
            text = f"Failed to reload {unit.name}: Job type reload is not applicable for unit {unit.name}.\n"
            return Output(status=1, stderr=text)
        if state.active != "active":
            return Output(status=1, stderr=f"{unit.name} is not active, cannot reload.\n")
        self._state.set_unit(unit.name, msgspec.structs.replace(state, reloads=state.reloads + 1))
        return _OK

    def _wanted(self, target: str) -> Iterator[str]:
        seen: set[str] = set()
        for folder in unitfiles.SEARCH_PATH:
            for kind in ("wants", "requires"):
                for name in self._root.list(f"{folder}/{target}.{kind}"):
                    if name not in seen:
                        seen.add(name)
                        yield name


def _sub_state(name: str, kind: str) -> str:
    if name.endswith(".service"):
        return "exited" if kind == "oneshot" else "running"
    return {"timer": "waiting", "path": "waiting", "socket": "listening", "mount": "mounted"}.get(
        name.rpartition(".")[2], "active"
    )


def _fails(line: str) -> bool:
    command = line.lstrip("@-:+!")
    if "-" in line[: len(line) - len(command)]:
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return True
    if not words:
        return False
    program = words[0].rpartition("/")[2]
    shell = program in ("sh", "bash", "dash") and len(words) == 3 and words[1] == "-c"
    return program == "false" or (shell and _EXIT.fullmatch(words[2]) is not None)
