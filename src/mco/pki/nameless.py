"""A certificate of an authority that is forgotten at once, for a listener that nobody gave one.

It is made in another process: what makes certificates takes 12 MB, which a resting process would keep.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

from mco.base.errors import MCOError

_LIFETIME = timedelta(days=3650)
_SECONDS = 60.0


def pem() -> bytes:
    """The certificate and its key. Blocks for some tenths of a second."""
    command = [sys.executable, "-m", __name__]
    # The program may know by other means than its environment where its parts are: an image's does.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise MCOError(f"no certificate could be made: {error}") from error
    return done.stdout


def _made() -> bytes:
    from mco.pki import authority
    from mco.runtime.clock import SystemClock

    now = SystemClock().now()
    pair = authority.create("mco-metrics", now).server("mco-metrics", ["localhost"], now, _LIFETIME)
    return pair.certificate + pair.key


if __name__ == "__main__":
    sys.stdout.buffer.write(_made())
