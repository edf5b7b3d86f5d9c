"""Host-wide kernel settings that machines need higher: raised by the first instance, put back by the last.

The users of a setting stand in one file that all instances of all users share (`/run/mco-lab/settings.json`),
each with the path of its lock, so that whoever looks next can tell the living from those that a SIGKILL
ended.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mco.lab import paths
from mco.lab.locks import Lock, is_held

# The least that is needed. A machine takes 8 inotify instances, 16 with a kubelet: at the default of 128 the
# ninth one hangs at boot.
RAISED = {"fs.inotify.max_user_instances": 8192}


class _Setting(msgspec.Struct, frozen=True, kw_only=True):
    original: int
    raised: int


class _Shared(msgspec.Struct, frozen=True, kw_only=True):
    boot_id: str
    settings: dict[str, _Setting]
    users: tuple[str, ...]  # paths of the instances' locks


def raise_for(lock: Path, exact: Mapping[str, int]) -> None:
    """Takes a share for the instance whose lock is `lock`. `exact` are settings that its machines would
    change themselves, with their values: set before, they are put back too."""
    with _guard():
        shared = _read() or _Shared(boot_id=_boot_id(), settings={}, users=())
        settings = dict(shared.settings)
        for name, value in {**RAISED, **exact}.items():
            current = int(_file(name).read_text())
            if current < value or (name in exact and current != value):
                settings.setdefault(name, _Setting(original=current, raised=value))
        users = (*_living(shared.users, str(lock)), str(lock))
        _write(_Shared(boot_id=shared.boot_id, settings=settings, users=users))
        for name in settings:
            _file(name).write_text(str(settings[name].raised))


def drop(lock: str) -> None:
    """Gives the share back; the last one restores what was there before, unless somebody else has changed it
    since."""
    with _guard():
        shared = _read()
        if shared is None:
            return
        users = _living(shared.users, lock)
        if users:
            _write(msgspec.structs.replace(shared, users=users))
            return
        for name, setting in shared.settings.items():
            if int(_file(name).read_text()) == setting.raised:
                _file(name).write_text(str(setting.original))
        _path().unlink()
    with contextlib.suppress(OSError):  # not empty: another instance is just starting
        paths.RUN.rmdir()


def _living(users: tuple[str, ...], without: str) -> tuple[str, ...]:
    return tuple(user for user in users if user != without and is_held(Path(user)))


def _guard() -> Lock:
    return Lock(paths.RUN / "lock", removes=True)


def _path() -> Path:
    return paths.RUN / "settings.json"


def _read() -> _Shared | None:
    try:
        shared = msgspec.json.decode(_path().read_bytes(), type=_Shared)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    # A host that was rebooted has its settings back already, where /run survives a reboot.
    return shared if shared.boot_id == _boot_id() else None


def _write(shared: _Shared) -> None:
    temporary = _path().with_suffix(".new")
    temporary.write_bytes(msgspec.json.encode(shared))
    temporary.rename(_path())


def _file(name: str) -> Path:
    return Path("/proc/sys", *name.split("."))


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text()
