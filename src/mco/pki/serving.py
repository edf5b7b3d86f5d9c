"""A serving certificate that is replaced while connections run.

A new one is loaded into a context of its own and only then takes the place of the old one, so a half-written
pair never breaks a handshake.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from pathlib import Path

from mco.base.errors import InvalidInput
from mco.pki import files
from mco.runtime.logging import Logger

_log = Logger("mco.pki")

MakeContext = Callable[[], ssl.SSLContext]


class ServingCertificate:
    """A certificate and key on disk, and the `context` that serves what they hold now. `make` makes a context
    without one; `instead` gives a PEM of both as long as there is no file."""

    def __init__(
        self, certificate: Path, key: Path, make: MakeContext, instead: Callable[[], bytes] | None = None
    ) -> None:
        """Raises InvalidInput if the files cannot be read or do not fit."""
        self._certificate = certificate
        self._key = key
        self._make = make
        self._instead = instead
        self._seen = self._fingerprint()
        self._current = self._load()
        self.context = self._current
        self.context.sni_callback = self._choose

    async def watch(self, seconds: float = 1.0) -> None:
        """Take over new files as they appear, for ever."""
        while True:
            await asyncio.sleep(seconds)
            self.refresh()

    def refresh(self) -> None:
        """Take over the files if they changed; a pair that does not fit is logged and the old one stays."""
        seen = self._fingerprint()
        if seen == self._seen:
            return
        try:
            self._current = self._load()
        except InvalidInput as error:
            # Its other half may be written in a moment: that changes the fingerprint again.
            _log.error("certificate not replaced", path=error.path, reason=error.message)
        else:
            _log.info("certificate replaced", path=str(self._certificate))
        self._seen = seen

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _load(self) -> ssl.SSLContext:
        context = self._make()
        if self._instead is not None and not self._certificate.exists():
            _load_pem(context, self._instead())
            return context
        try:
            context.load_cert_chain(self._certificate, self._key)
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InvalidInput(
                f"the serving certificate cannot be used: {reason}",
                path=f"{self._certificate}, {self._key}",
                hint="put a PEM certificate chain and its unencrypted private key there",
            ) from error
        return context

    def _fingerprint(self) -> tuple[tuple[int, int, int], ...]:
        return tuple(files.identity(path) for path in (self._certificate, self._key))


def _load_pem(context: ssl.SSLContext, pem: bytes) -> None:
    """The library reads files only; this one is in memory, and nobody else's."""
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
