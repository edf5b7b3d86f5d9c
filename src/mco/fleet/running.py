"""Which instances run: a lock each, that says who holds it and where its data are."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import msgspec

from mco.base.errors import Conflict, NotFound, Unavailable
from mco.fleet.instance import TOUR_SUFFIX, discard_mark, folder_of, instances_folder, is_name, lock_of
from mco.lab.locks import Lock, is_held, purpose

_STOP_SECONDS = 60.0


class Holder(msgspec.Struct, frozen=True):
    """The process that runs an instance, and the folder of its data: a tour's is not the kept one."""

    pid: int
    folder: str


def hold(name: str, folder: Path) -> Lock:
    """Raises Conflict when the instance runs already."""
    text = msgspec.json.encode(Holder(os.getpid(), str(folder))).decode()
    try:
        return Lock(lock_of(name), blocking=False, purpose=text)
    except Conflict:
        held = holder(name)
        raise Conflict(
            f'instance "{name}" runs already' + (f", as process {held.pid}" if held else ""),
            path=str(lock_of(name)),
            hint="another one beside it: --name NAME; or stop it: mco down",
        ) from None


def sweep_tours() -> None:
    """Removes the folders of tours that were killed."""
    for folder in instances_folder().glob(f"*{TOUR_SUFFIX}"):
        name = folder.name.removesuffix(TOUR_SUFFIX)
        if not is_name(name):
            continue
        held = holder(name)
        if held is None or (held.pid == os.getpid() and held.folder == str(folder)):
            shutil.rmtree(folder, ignore_errors=True)


def holder(name: str) -> Holder | None:
    """Who runs the instance; None when nobody does."""
    if not is_held(lock_of(name)):
        return None
    try:
        return msgspec.json.decode(purpose(lock_of(name)).encode(), type=Holder)
    except msgspec.DecodeError:
        return None


def kubeconfig(name: str) -> Path:
    """An administrator's kubeconfig of a running instance. Raises NotFound when it does not run."""
    held = holder(name)
    path = (Path(held.folder) if held else folder_of(name)) / "api" / "kubeconfig"
    if held is None or not path.exists():
        raise NotFound(f'instance "{name}" does not run', hint="start it: mco up")
    return path


async def stop(name: str, *, discard: bool = False) -> bool:
    """Asks the process that runs the instance to end, and waits for it; False when nobody runs it. `discard`:
    nothing of it is needed any more."""
    held = holder(name)
    if held is None:
        return False
    if discard:
        discard_mark(Path(held.folder)).touch()
    os.kill(held.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            while is_held(lock_of(name)):  # noqa: ASYNC110 - a lock of another process cannot be awaited
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise Unavailable(
            f'instance "{name}" has not ended after {_STOP_SECONDS:g} s', hint=f"kill {held.pid}"
        ) from None
    return True
