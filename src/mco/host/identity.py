"""Who this machine is and which boot it is in."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress

import msgspec

from mco.base.errors import HostError
from mco.host.commands import Commands
from mco.host.root import Root

BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
MACHINE_ID_FILE = "/etc/machine-id"
OS_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")


class OSRelease(msgspec.Struct, frozen=True, kw_only=True):
    """os-release(5)."""

    id: str = "linux"
    id_like: tuple[str, ...] = ()
    version_id: str = ""
    variant_id: str = ""
    pretty_name: str = "Linux"


class Identity:
    def __init__(self, root: Root, commands: Commands) -> None:
        self._root = root
        self._commands = commands

    def boot_id(self) -> str:
        """Another one after every boot."""
        return self._root.read_text(BOOT_ID_FILE, 64).strip()

    def machine_id(self) -> str:
        """32 hexadecimal digits. Raises HostError before the first boot has made one."""
        text = self._root.read_text(MACHINE_ID_FILE, 64).strip()
        if not re.fullmatch(r"[0-9a-f]{32}", text):
            raise HostError(
                f"{MACHINE_ID_FILE}: no machine id",
                path=MACHINE_ID_FILE,
                hint="run: systemd-machine-id-setup",
            )
        return text

    def hostname(self) -> str:
        """As the running kernel of the machine has it."""
        return self._commands.run("uname", "-n").strip()

    def kernel_release(self) -> str:
        return self._commands.run("uname", "-r").strip()

    def os_release(self) -> OSRelease:
        for path in OS_RELEASE_FILES:
            if data := self._root.read_optional(path, 1 << 20):
                return parse_os_release(data.decode("utf-8", "replace"))
        return OSRelease()


def parse_os_release(text: str) -> OSRelease:
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            with suppress(ValueError):
                values[key] = "".join(shlex.split(value))
    return OSRelease(
        id=values.get("ID", "linux"),
        id_like=tuple(values.get("ID_LIKE", "").split()),
        version_id=values.get("VERSION_ID", ""),
        variant_id=values.get("VARIANT_ID", ""),
        pretty_name=values.get("PRETTY_NAME", "Linux"),
    )
