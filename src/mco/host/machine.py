"""One machine behind a root handle: what the daemon reads and changes, in parts.

Three builds have the same shape: the machine itself (root `/`), a machine whose root a privileged container
mounts (commands run in PID 1's namespaces), and a directory-rooted host (`fake/`) for whoever is not root.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from mco.host.accounts import Accounts
from mco.host.commands import NAMESPACES_OF_PID_1, Commands
from mco.host.identity import Identity
from mco.host.kernel import KernelArguments
from mco.host.reboot import reboot
from mco.host.root import Root
from mco.host.ssh import AuthorizedKeys
from mco.host.systemd import Systemd


class Host:
    """All calls are synchronous and raise HostError for what the machine refuses. Not for use by several
    threads at once."""

    def __init__(self, root: Root, commands: Commands) -> None:
        self.root = root
        self.commands = commands
        self.systemd = Systemd(root, commands)
        self.accounts = Accounts(root, commands)
        self.kernel = KernelArguments(root)
        self.ssh = AuthorizedKeys(root, self.accounts)
        self.identity = Identity(root, commands)

    def boot_id(self) -> str:
        return self.identity.boot_id()

    def machine_id(self) -> str:
        return self.identity.machine_id()

    def hostname(self) -> str:
        return self.identity.hostname()

    def reboot(self, reason: str, after: tuple[str, ...] = ()) -> None:
        """Returns when the reboot is queued; SIGTERM follows."""
        reboot(self.commands, reason, after)

    def close(self) -> None:
        self.root.close()


def open_host(root: str | Path = "/") -> Host:
    """The machine whose root directory this is: `/` is this machine; the root of a directory-rooted host
    (`fake.FakeMachine`) is that host, whose reboot ends this process with SIGTERM, as a real one does; any
    other folder is the mounted root of the machine in one of whose containers this process runs."""
    path = Path(root)
    if path == Path("/"):
        return Host(Root(path), Commands())
    from mco.host.fake.machine import FakeMachine, is_fake  # the two know each other

    if is_fake(path):
        return FakeMachine(path.parent, on_reboot=lambda: os.kill(os.getpid(), signal.SIGTERM)).host
    return Host(Root(path), Commands(NAMESPACES_OF_PID_1))
