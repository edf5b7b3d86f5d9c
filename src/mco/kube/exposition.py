"""A component's metrics, for whoever may read them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mco.runtime.scraping import Address, Listener, bind
from mco.runtime.supervise import Part

if TYPE_CHECKING:
    from mco.runtime.metrics import Page, Source


class Exposition:
    """Listens from the start: an address that is taken raises Unavailable. Without an address nothing is
    made, and the library is not imported."""

    def __init__(self, plain: Address | None) -> None:
        self._plain = bind(plain, "--metrics-listen") if plain else None
        self._page = _page() if self._plain else None

    @property
    def port(self) -> int:
        """Where it listens; 0 for nowhere."""
        return self._plain.getsockname()[1] if self._plain else 0

    @contextlib.contextmanager
    def showing(self, source: Source) -> Iterator[None]:
        """Whoever asks in the meantime is told what `source` says."""
        with self._page.showing(source) if self._page else contextlib.nullcontext():
            yield

    def parts(self) -> Mapping[str, Part]:
        """What answers, for `supervise`."""
        if self._page is None or self._plain is None:
            return {}
        return {"metrics": self._listener(self._plain, self._page).run}

    def _listener(self, bound: socket.socket, page: Page) -> Listener:
        from mco.runtime.metrics import CONTENT_TYPE

        return Listener(bound, page.text, CONTENT_TYPE)


def _page() -> Page:
    from mco.runtime.metrics import Page

    return Page()
