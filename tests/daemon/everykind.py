"""Two configs between which every kind of action lies, on a machine with files and units of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mco.api import names
from mco.daemon import transaction
from mco.daemon.provision import provision
from mco.host.fake import FakeMachine
from mco.host.journal import Journal
from mco.host.root import Root
from mco.plan.node import actions, diff, update
from mco.plan.node.target import pair, target
from tests.daemon.builders import config, file, service, typed, unit

_HASH = "$6$salt${0}"

OLD = config(
    "every-old",
    files=[
        file("/etc/kept", "old\n", 0o600),
        file("/etc/gone/below/file", "gone\n"),
        file("/etc/issue", "ours\n"),
    ],
    units=[
        unit("changed.service", service(1), enabled=True),
        unit("gone.service", service(1), enabled=True),
        unit("masked.service", service(1)),
        unit("switched.service", service(1), enabled=True),
        unit("vendor.service", enabled=True),
        unit("dropped.service", service(1), dropins={"10-old.conf": "[Unit]\nWants=x.service\n"}),
    ],
    arguments=["old=1"],
    ignition={
        "passwd": {
            "users": [
                {"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 A"], "passwordHash": _HASH.format(1)}
            ]
        }
    },
)

NEW = config(
    "every-new",
    files=[
        file("/etc/kept", "new\n", 0o640, user={"name": "core"}, group={"name": "core"}),
        file("/etc/fresh/below/file", "fresh\n", 0o755),
        file("/etc/motd", "hello\n"),
    ],
    units=[
        unit("changed.service", service(2), enabled=True),
        unit("masked.service", mask=True),
        unit("switched.service", service(1), enabled=False),
        unit("fresh.service", service(1), enabled=True, dropins={"10-new.conf": "[Unit]\nWants=y.service\n"}),
        unit("dropped.service", service(1)),
    ],
    arguments=["new=1", "new=2"],
    ignition={
        "passwd": {
            "users": [
                {
                    "name": "core",
                    "sshAuthorizedKeys": ["ssh-ed25519 B", "ssh-ed25519 C"],
                    "passwordHash": _HASH.format(2),
                }
            ]
        }
    },
)

OLD_NAME, NEW_NAME = OLD["metadata"]["name"], NEW["metadata"]["name"]


def plan(*, back: bool = False) -> tuple[actions.AnyAction, ...]:
    """What leads from OLD to NEW, or from NEW to OLD."""
    before, after = pair(typed(NEW), typed(OLD)) if back else pair(typed(OLD), typed(NEW))
    return update.actions(before, after, diff.compare(before, after))


def entry_of(text: str, *, back: bool = False) -> int:
    """The journal's number of the action whose description begins so; entry 0 is the update itself."""
    found = enumerate(plan(back=back), start=1)
    return next(number for number, action in found if action.describe().startswith(text))


def acted(root: Root) -> list[int]:
    """Numbers of the actions of the last update that had something to do."""
    state = Journal(root).read()
    assert state is not None
    listed = transaction.indices(state, transaction.ACTION)
    return [number for number in listed if state.actions[number].phase == "applied"]


def furnish(root: Root) -> None:
    """What the machine's image brings at places that the configs name."""
    root.write("/etc/motd", b"shipped\n", mode=0o600)
    root.write("/etc/issue", b"issue\n", mode=0o640)
    root.write("/usr/lib/systemd/system/vendor.service", service(0).encode())
    root.write("/usr/lib/systemd/system-preset/50-vendor.preset", b"disable vendor.service\ndisable *\n")


def make(folder: Path) -> None:
    """A machine that has joined with OLD."""
    with_machine = FakeMachine.create(folder, hostname="every")
    furnish(with_machine.root)
    provision(with_machine.host, target(typed(OLD)).config)
    with_machine.host.kernel.set(OLD["spec"]["kernelArguments"])
    with_machine.root.write(names.CURRENT_CONFIG_FILE, msgspec.json.encode(OLD), mode=0o600)
    with_machine.boot()
    with_machine.close()


def tree(root: Root, folders: Sequence[str] = ("/",)) -> dict[str, tuple[Any, ...]]:
    """Everything that an update may change: bytes, modes, owners, links (those of enabled units and boot
    entries among them) and directories. Not the daemon's own state, and not what ends with a boot."""
    listed: dict[str, tuple[Any, ...]] = {}
    for path, status in (found for folder in folders for found in root.walk(folder)):
        if f"{path}/".startswith((f"{names.STATE_FOLDER}/", "/run/", "/proc/")):
            continue
        data = root.read(path, follow=False) if status.is_file else b""
        listed[path] = (status.mode, status.owner, status.target, data)
    return listed
