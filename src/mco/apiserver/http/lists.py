"""List: whole, or in pages of one consistent revision."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.core import Core
from mco.apiserver.http import show
from mco.apiserver.http.checks import check_list
from mco.apiserver.http.options import Continue, Form, continue_of, form_of, number, selection_of
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import PIECE, Answer
from mco.apiserver.registry.served import Served
from mco.apiserver.store.revision import Page, Revision
from mco.apiserver.store.store import Compacted
from mco.apiserver.watch.selection import Selection, View

PAGE_BYTES = 4 * 1024 * 1024
PAGE_OBJECTS = 256
"""How much is read at once: a list of large objects is never in memory as a whole."""

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)


class Listing(msgspec.Struct, kw_only=True):
    """A list as it is read: `number` is its revision, `following` where the next page begins, both known when
    `pages` has ended."""

    core: Core
    served: Served
    selection: Selection
    limit: int = 0
    after: tuple[str, str] = ("", "")
    number: int = 0
    following: Continue | None = None
    size: int = 16

    def pages(self) -> Iterator[list[Revision]]:
        """Objects of the selection. Raises Compacted when the revision is too old."""
        if self._is_point():
            yield self._point()
            return
        left = self.limit
        while True:
            page = self._read(left)
            self.number = page.number
            found = [r for r in page.revisions if self.selection.matches(View(r.key, r.data))]
            if left and len(found) >= left:
                rest = page.more or len(found) > left or found[left - 1] is not page.revisions[-1]
                key = found[left - 1].key
                self.following = Continue(self.number, key.namespace, key.name) if rest else None
                yield found[:left]
                return
            left -= len(found) if left else 0
            yield found
            if not page.more:
                return
            self.after = (page.revisions[-1].key.namespace, page.revisions[-1].key.name)

    def metadata(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"resourceVersion": str(self.number)}
        if self.following:
            shown["continue"] = self.following.encode()
            if not self.selection.labels.requirements and not self.selection.fields:
                place = (self.following.namespace, self.following.name)
                shown["remainingItemCount"] = self.core.store.count(
                    self.served.resource, self.selection.namespace, place
                )
        return shown

    def _read(self, left: int) -> Page:
        size = min(left, self.size) if left else self.size
        page = self.core.store.page(
            self.served.resource, self.selection.namespace, after=self.after, limit=size, at=self.number
        )
        if page.revisions:
            mean = sum(len(revision.data) for revision in page.revisions) // len(page.revisions)
            self.size = max(1, min(PAGE_OBJECTS, PAGE_BYTES // mean))
        return page

    def _is_point(self) -> bool:
        """Thousands of nodes each list and watch themselves: a point query, not a walk over all of them."""
        placed = self.selection.namespace or not self.served.namespaced
        return bool(self.selection.name and placed and not self.number and self.after == ("", ""))

    def _point(self) -> list[Revision]:
        self.number = self.core.store.current()
        revision = self.core.store.get(self.served.key(self.selection.namespace, self.selection.name))
        if revision is None or not self.selection.matches(View(revision.key, revision.data)):
            return []
        self.number = max(self.number, revision.number)
        return [revision]


def list_objects(core: Core, served: Served, request: Request) -> Answer:
    check_list(request)
    start = continue_of(request)
    listing = Listing(
        core=core,
        served=served,
        selection=selection_of(request, served),
        limit=number(request, "limit"),
        after=(start.namespace, start.name) if start else ("", ""),
        number=start.rv if start else _revision_of(core, request),
    )
    form, pages = form_of(request), listing.pages()
    try:
        first = next(pages)
    except Compacted as error:
        if start is None:
            raise errors.expired(_gone(listing.number)) from error
        raise errors.expired(_TOO_OLD, msgspec.structs.replace(start, rv=0).encode()) from error
    return Answer(body=_stream(listing, form, first, pages))


async def _stream(
    listing: Listing, form: Form, first: list[Revision], rest: Iterator[list[Revision]]
) -> AsyncIterator[bytes]:
    served, now = listing.served, listing.core.now()
    separator, piece = b"", bytearray(show.list_begin(served, form))
    for page in itertools.chain((first,), rest):
        for item in page:
            piece += separator + show.list_item(served, item.data, form, now)
            separator = b","
            if len(piece) >= PIECE:
                yield bytes(piece)
                piece.clear()
        # Others want to be served while a long list is on its way.
        await asyncio.sleep(0)
    yield bytes(piece) + show.list_end(listing.metadata())


def _revision_of(core: Core, request: Request) -> int:
    """The exact revision that a list must be of; 0 when any recent one will do."""
    wanted, match = number(request, "resourceVersion"), request.query.get("resourceVersionMatch", "")
    current = core.store.current()
    if wanted > current:
        raise errors.too_new(wanted, current)
    exact = match == "Exact" or (not match and number(request, "limit") and wanted)
    return wanted if exact else 0


def _gone(at: int) -> str:
    return f"The resourceVersion for the provided list is too old: {at}"
