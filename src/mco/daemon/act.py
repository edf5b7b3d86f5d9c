"""How each action is done on a machine, and taken back.

`prepare` looks before anything is changed: an action that is already true is not done at all, and
everything else comes with the pre-images of what it will touch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, assert_never

import msgspec

from mco.api import names
from mco.base.errors import HostError, InvalidInput
from mco.daemon import facts, links, originals
from mco.host.machine import Host
from mco.host.preimage import PreImage, capture, restore
from mco.plan.node import actions as plan
from mco.plan.node import policies
from mco.plan.node.disruption import PostAction
from mco.plan.node.update import UNIT_MODE
from mco.plan.node.verify import contents
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.act")


class Context(msgspec.Struct, frozen=True):
    """`raw` is the new MachineConfig as JSON."""

    host: Host
    raw: bytes


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """What undoing needs besides pre-images of files."""

    links: links.UnitLinks | None = None
    user: str = ""
    hash: str = ""


class Prepared(msgspec.Struct, frozen=True):
    perform: Callable[[], None]
    images: Sequence[PreImage] = ()
    note: Any = None


def prepare(context: Context, action: plan.AnyAction) -> Prepared | None:
    """None when there is nothing to do. Raises HostError or InvalidInput when it cannot be done."""
    host = context.host
    match action:
        case plan.WriteFile(path=path):
            owner = _owner(host, action)
            return _write(host, path, contents(action.contents), action.mode, owner, action.known)
        case plan.WriteDropin(path=path, contents=text):
            return _write(host, path, text.encode(), UNIT_MODE, (0, 0), action.known)
        case plan.WriteUnit():
            return _write_unit(host, action)
        case plan.RemoveFile(path=path) | plan.RemoveDropin(path=path):
            return _remove(host, path)
        case plan.MaskUnit():
            return _mask(host, action)
        case plan.RemoveUnit():
            return _remove_unit(host, action)
        case plan.EnableUnits() | plan.DisableUnits():
            return _switch(host, action)
        case plan.PresetUnit(name=name):
            return Prepared(partial(_preset, host, name), note=_links_note(host))
        case plan.SetSSHKeys():
            return _ssh_keys(host, action)
        case plan.SetPasswordHash():
            return _password(host, action)
        case plan.SetKernelArguments():
            return _kernel(host, action)
        case plan.RecordConfig():
            return _record(context)
        case _:
            assert_never(action)


def take_back(host: Host, images: Sequence[PreImage], note: Any) -> None:
    """Makes true again what was before, last changed first. May be repeated."""
    kept = msgspec.convert(note, Note) if note is not None else Note()
    if kept.user:
        host.accounts.set_password_hash(kept.user, kept.hash)
    for image in reversed(images):
        restore(host.root, image)
    if kept.links is not None:
        links.restore(host.root, kept.links)


def post(host: Host, action: PostAction) -> None:
    """What is done to running services (spec/daemon.md 6.21); a reboot is not done here."""
    match action.type:
        case policies.RELOAD | policies.SPECIAL:
            host.systemd.reload(action.service)
        case policies.RESTART:
            _restart(host, action.service)
        case policies.DAEMON_RELOAD:
            host.systemd.daemon_reload()


def _restart(host: Host, service: str) -> None:
    try:
        host.systemd.restart(service)
    except HostError:
        if service != policies.TRUST_SERVICE:
            raise
        host.commands.run("update-ca-trust")


# Files


def _owner(host: Host, action: plan.WriteFile) -> tuple[int, int]:
    owner = facts.owner(host, action.user, action.group)
    if owner is None:
        raise InvalidInput(
            f"write {action.path}: owner {action.user}:{action.group} does not exist on this machine",
            path=action.path,
            hint="create the user and group, or give their numbers",
        )
    return owner


def _write(
    host: Host, path: str, data: bytes, mode: int, owner: tuple[int, int], known: bool
) -> Prepared | None:
    status = host.root.stat(path)
    same = status is not None and status.is_file and status.permissions == mode and status.owner == owner
    if same and known and host.root.read(path, follow=False) == data:
        return None
    folders = _empty_folders(host, path) if status is not None and status.is_dir else []

    def perform() -> None:
        originals.keep(host.root, path, known=known)
        for folder in reversed(folders):
            host.root.remove(folder)
        host.root.write(path, data, mode=mode, owner=owner)

    below = [capture(host.root, folder) for folder in reversed(folders[1:])]
    return Prepared(perform, [*below, *_images(host, path)])


def _empty_folders(host: Host, path: str) -> list[str]:
    """A folder that a config's files left behind, with those below it. One that holds anything is in the way,
    and somebody's."""
    found = list(host.root.walk(path))
    if any(not status.is_dir for _, status in found):
        raise HostError(
            f"write {path}: is a directory", path=path, hint="move the directory away, or rename the file"
        )
    return [folder for folder, _ in found]


def _remove(host: Host, path: str) -> Prepared | None:
    if not any(host.root.exists(p) for p in (path, *originals.bookkeeping(path))):
        return None
    return Prepared(partial(originals.bring_back, host.root, path), _images(host, path))


def _images(host: Host, path: str) -> list[PreImage]:
    """Of a path and of what is kept about its original."""
    return [capture(host.root, p) for p in (path, *originals.bookkeeping(path))]


def _record(context: Context) -> Prepared | None:
    root = context.host.root
    path = names.CURRENT_CONFIG_FILE
    if root.read_optional(path) == context.raw:
        return None
    return Prepared(lambda: root.write(path, context.raw, mode=0o600), [capture(root, path)])


# Units


def _links_note(host: Host) -> Any:
    return msgspec.to_builtins(Note(links=links.capture(host.root)))


def _write_unit(host: Host, action: plan.WriteUnit) -> Prepared | None:
    """A unit that is enabled is disabled first, because its new contents may be wanted elsewhere
    (spec/daemon.md 6.9)."""
    write = _write(host, action.path, action.contents.encode(), UNIT_MODE, (0, 0), action.known)
    if write is None:
        return None

    def perform() -> None:
        originals.keep(host.root, action.path, known=action.known)
        if _is_masked(host, action.path):
            # Behind a mask nobody sees whether the unit is enabled.
            host.root.remove(action.path)
        if host.systemd.is_enabled(action.name) == "enabled":
            host.systemd.disable((action.name,))
        write.perform()

    return Prepared(perform, write.images, _links_note(host))


def _is_masked(host: Host, path: str) -> bool:
    status = host.root.stat(path)
    return status is not None and status.target == "/dev/null"


def _mask(host: Host, action: plan.MaskUnit) -> Prepared | None:
    path = action.path
    if _is_masked(host, path):
        return None

    def perform() -> None:
        originals.keep(host.root, path, known=action.known)
        host.root.symlink(path, "/dev/null")

    return Prepared(perform, _images(host, path))


def _remove_unit(host: Host, action: plan.RemoveUnit) -> Prepared | None:
    remove = _remove(host, action.path)
    if remove is None:
        return None

    def perform() -> None:
        if action.disable and host.systemd.is_enabled(action.name) in ("enabled", "enabled-runtime"):
            host.systemd.disable((action.name,))
        remove.perform()
        if host.systemd.is_enabled(action.name) != "not-found":
            _preset(host, action.name)

    return Prepared(perform, remove.images, _links_note(host))


def _switch(host: Host, action: plan.EnableUnits | plan.DisableUnits) -> Prepared | None:
    known = host.systemd.unit_files() if set(action.names) - action.defined else frozenset()
    units = tuple(name for name in action.names if name in action.defined or name in known)
    if not units:
        return None
    switch = host.systemd.enable if isinstance(action, plan.EnableUnits) else host.systemd.disable
    return Prepared(partial(switch, units), note=_links_note(host))


def _preset(host: Host, name: str) -> None:
    try:
        host.systemd.preset(name)
    except HostError as error:
        _log.info("unit not reset to its preset", unit=name, error=str(error))


# Users and kernel


def _ssh_keys(host: Host, action: plan.SetSSHKeys) -> Prepared | None:
    path = host.ssh.path(action.user)
    if path is None:
        _log.info("no such user, SSH keys not written", user=action.user)
        return None
    keys = tuple(key.strip() for key in action.keys)
    # A socket in there, as ssh makes them, cannot be kept: only what is really replaced is looked at.
    places = dict.fromkeys((path, *host.ssh.replaced(action.user)))
    images = [capture(host.root, place) for place in places]
    return Prepared(lambda: _done(host.ssh.write(action.user, keys)), images)


def _password(host: Host, action: plan.SetPasswordHash) -> Prepared | None:
    if host.accounts.find(action.user) is None and action.hash == plan.LOCKED:
        return None  # nobody who could log in
    before = host.accounts.password_hash(action.user)
    if before == action.hash:
        return None
    note = msgspec.to_builtins(Note(user=action.user, hash=before))
    return Prepared(lambda: _done(host.accounts.set_password_hash(action.user, action.hash)), note=note)


def _done(_: bool) -> None:
    """Whether it was needed was asked before."""


def _kernel(host: Host, action: plan.SetKernelArguments) -> Prepared | None:
    change = host.kernel.prepare(action.new)
    if change is None:
        return None
    images = [capture(host.root, path) for path in change.paths]
    return Prepared(partial(host.kernel.apply, change), images)
