"""Removes what a 2.x config may repeat and a 3.x config may not (spec/render.md 8.2).

The later entry wins and the order is turned round, as in the original, whose names and bytes depend on it.
"""

from __future__ import annotations

import msgspec

from mco.ignition.v2 import types as v2
from mco.ignition.v2.errors import ConversionError

_USER = "core"


def dedupe(config: v2.Config) -> v2.Config:
    """Raises ConversionError when a user other than core is configured."""
    storage = msgspec.structs.replace(config.storage, files=_files(config.storage.files))
    systemd = msgspec.structs.replace(config.systemd, units=_units(config.systemd.units))
    passwd = msgspec.structs.replace(config.passwd, users=_users(config.passwd.users))
    return msgspec.structs.replace(config, storage=storage, systemd=systemd, passwd=passwd)


def _files(files: tuple[v2.File, ...]) -> tuple[v2.File, ...]:
    kept: dict[str, v2.File] = {}
    for file in reversed(files):
        kept.setdefault(file.path, file)
    return tuple(kept.values())


def _units(units: tuple[v2.Unit, ...]) -> tuple[v2.Unit, ...]:
    """Drop-ins of earlier units with the same name are kept when their own names are new."""
    kept: dict[str, v2.Unit] = {}
    for unit in reversed(units):
        last = kept.get(unit.name)
        if last is None:
            kept[unit.name] = unit
            continue
        names = {dropin.name for dropin in last.dropins}
        dropins = list(last.dropins)
        for dropin in unit.dropins:
            if dropin.name not in names:
                names.add(dropin.name)
                dropins.append(dropin)
        kept[unit.name] = msgspec.structs.replace(last, dropins=tuple(dropins))
    return tuple(kept.values())


def _users(users: tuple[v2.PasswdUser, ...]) -> tuple[v2.PasswdUser, ...]:
    """One user, the last, with the keys of all."""
    keys: list[str] = []
    for index, user in reversed(list(enumerate(users))):
        if user.name != _USER:
            raise ConversionError(
                f"unexpected user with name: {user.name}. Only core user is supported",
                path=f"$.passwd.users.{index}.name",
                hint="configure the user core, or use Ignition spec 3",
            )
        keys.extend(user.ssh_authorized_keys)
    if not users:
        return ()
    return (msgspec.structs.replace(users[-1], ssh_authorized_keys=tuple(dict.fromkeys(keys))),)
