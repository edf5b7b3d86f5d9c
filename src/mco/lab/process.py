"""One boot of a machine as a process of its host."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable

from mco.lab import launch
from mco.lab.commands import CLEAN_ENVIRONMENT, UMASK
from mco.lab.notify import NotifySocket


async def boot(plan: launch.Launch, notified: Callable[[dict[str, str]], None]) -> int:
    """From its start to its end, or until cancelled; what it ended with. `notified` hears what the machine's
    systemd says."""
    notify = NotifySocket(notified)
    try:
        with plan.disk.console.open("ab") as console:
            process = await asyncio.create_subprocess_exec(
                *launch.boot(plan),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env={**CLEAN_ENVIRONMENT, "NOTIFY_SOCKET": notify.address},
                start_new_session=True,
                umask=UMASK,
            )
        try:
            return await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    finally:
        notify.close()
