"""Units of the machine, through `systemctl`, which works from a container and on a machine alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mco.host.commands import Commands
from mco.host.root import Root

UNIT_FOLDER = "/etc/systemd/system"
"""Where units of a config live (spec/daemon.md 6.9)."""

START_SECONDS = 120.0


class Systemd:
    def __init__(self, root: Root, commands: Commands) -> None:
        self._root = root
        self._commands = commands

    def daemon_reload(self) -> None:
        self._commands.run("systemctl", "daemon-reload")

    # What is linked on the disk

    def enable(self, names: Sequence[str]) -> None:
        """All in one command (spec/daemon.md 6.9). Raises CommandError, as for a masked or unknown unit."""
        self._link("enable", names)

    def disable(self, names: Sequence[str]) -> None:
        self._link("disable", names)

    def preset(self, name: str) -> None:
        """Enables or disables one unit as the machine's presets say."""
        self._link("preset", (name,))

    def is_enabled(self, name: str) -> str:
        """As systemctl words it: `enabled`, `enabled-runtime`, `disabled`, `masked`, `static`, `linked`,
        ...; `not-found` when there is no such unit."""
        output = self._commands.attempt("systemctl", "is-enabled", "--", name)
        word = output.stdout.strip()
        if word:
            return word
        if "No such file or directory" in output.stderr or "not-found" in output.stderr:
            return "not-found"
        raise self._commands.failure(("systemctl", "is-enabled", "--", name), output)

    def enabled_states(self, names: Sequence[str]) -> Mapping[str, str]:
        """`is_enabled` of many, in one command where all exist."""
        if not names:
            return {}
        words = self._commands.attempt("systemctl", "is-enabled", "--", *names).stdout.split()
        if len(words) == len(names):
            return dict(zip(names, words, strict=True))
        return {name: self.is_enabled(name) for name in names}

    def unit_files(self) -> frozenset[str]:
        """Names of all unit files that systemd knows, to be taken once before units are written."""
        listing = self._commands.run("systemctl", "list-unit-files", "--no-legend", "--no-pager", "--plain")
        return frozenset(line.split()[0] for line in listing.splitlines() if line.strip())

    # What runs

    def start(self, name: str) -> None:
        self._job("start", name)

    def stop(self, name: str) -> None:
        self._job("stop", name)

    def restart(self, name: str) -> None:
        self._job("restart", name)

    def reload(self, name: str) -> None:
        self._job("reload", name)

    def active_state(self, name: str) -> str:
        """`active`, `inactive`, `failed`, `activating`, `deactivating`, `reloading`."""
        return self.show(name, ("ActiveState",))["ActiveState"]

    def show(self, name: str, properties: Sequence[str]) -> Mapping[str, str]:
        """Properties of a unit; those that it does not have are empty. A unit that does not exist has
        LoadState `not-found` and is no error."""
        listing = self._commands.run("systemctl", "show", f"--property={','.join(properties)}", "--", name)
        found = dict(line.split("=", 1) for line in listing.splitlines() if "=" in line)
        return {key: found.get(key, "") for key in properties}

    def failed(self) -> frozenset[str]:
        """Names of all units that failed."""
        listing = self._commands.run(
            "systemctl", "list-units", "--state=failed", "--no-legend", "--no-pager", "--plain"
        )
        return frozenset(line.split()[0] for line in listing.splitlines() if line.strip())

    def _job(self, verb: str, name: str) -> None:
        self._commands.run("systemctl", verb, "--", name, timeout=START_SECONDS)

    def _link(self, verb: str, names: Sequence[str]) -> None:
        if not names:
            return
        self._commands.run("systemctl", verb, "--", *names)
        self._sync_links()

    def _sync_links(self) -> None:
        """systemctl does not sync the links that it makes; a journal entry after it must not come first."""
        for folder in (UNIT_FOLDER, *self._link_folders()):
            self._root.sync_folder(folder)

    def _link_folders(self) -> Iterable[str]:
        names = self._root.list(UNIT_FOLDER)
        return (
            f"{UNIT_FOLDER}/{name}" for name in names if name.endswith((".wants", ".requires", ".upholds"))
        )
