"""A component's metrics, for whoever may read them: everybody on this machine, and over TLS those whom the
API server knows to be allowed to."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mco.kube.client import Client
from mco.kube.config import Cluster
from mco.kube.reviews import Reviews
from mco.pki import nameless
from mco.pki.serving import ServingCertificate
from mco.runtime.clock import SystemClock
from mco.runtime.scraping import Address, Listener, Secured, bind, port_of
from mco.runtime.supervise import Part

if TYPE_CHECKING:
    from mco.runtime.metrics import Page, Source

_REVIEW_PATIENCE = 5.0
"""Seconds that the API server has to say who asks."""


class Secure(msgspec.Struct, frozen=True):
    """`tls` is the folder of `tls.crt` and `tls.key`; as long as they are not there, the certificate is one
    that nobody signed. `cluster` is asked who may read."""

    address: Address
    tls: Path
    cluster: Cluster


class Exposition:
    """Listens from the start: an address that is taken raises Unavailable, a certificate that cannot be used
    InvalidInput. Without an address nothing is made, and the library is not imported. `port` and
    `secure_port` say where; 0 is nowhere."""

    def __init__(self, plain: Address | None, secure: Secure | None = None) -> None:
        self._plain = bind(plain, "--metrics-listen") if plain else None
        self._guarded = _Guarded(secure) if secure else None
        self._page = _page() if plain or secure else None
        self.port = port_of(self._plain) if self._plain else 0
        self.secure_port = port_of(self._guarded.bound) if self._guarded else 0

    @contextlib.contextmanager
    def showing(self, source: Source) -> Iterator[None]:
        """Whoever asks in the meantime is told what `source` says."""
        with self._page.showing(source) if self._page else contextlib.nullcontext():
            yield

    def parts(self) -> Mapping[str, Part]:
        """What answers, for `supervise`."""
        parts: dict[str, Part] = {}
        if self._page and self._plain:
            parts["metrics"] = Listener(self._plain, self._page).run
        if self._page and self._guarded:
            parts["metrics-tls"] = partial(self._guarded.serve, self._page)
            parts["metrics-certificate"] = self._guarded.certificate.watch
        return parts


class _Guarded:
    def __init__(self, secure: Secure) -> None:
        self._cluster = secure.cluster
        pair = secure.tls / "tls.crt", secure.tls / "tls.key"
        self.certificate = ServingCertificate(*pair, _context, instead=nameless.pem)
        self.bound = bind(secure.address, "--metrics-secure-listen")

    async def serve(self, page: Page) -> None:
        async with Client(self._cluster, user_agent="mco-metrics", patience=_REVIEW_PATIENCE) as client:
            secured = Secured(self.certificate.context, Reviews(client, SystemClock()).admit)
            await Listener(self.bound, page, secured).run()


def _page() -> Page:
    from mco.runtime.metrics import Page

    return Page()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
