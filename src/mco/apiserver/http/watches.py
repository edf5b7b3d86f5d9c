"""Watch: what is there, what happened since, and then everything as it happens."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Iterator

import msgspec

from mco.apiserver import errors
from mco.apiserver.core import Core
from mco.apiserver.http import show
from mco.apiserver.http.checks import check_watch
from mco.apiserver.http.lists import Listing
from mco.apiserver.http.options import Form, form_of, number, selection_of
from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import PIECE, Answer
from mco.apiserver.registry.served import Served
from mco.apiserver.store.store import Compacted
from mco.apiserver.watch.hub import Happening, Watcher
from mco.apiserver.watch.selection import Selection

DEFAULT_SECONDS = (1800.0, 3600.0)


class Session(msgspec.Struct, kw_only=True):
    """One watch request: what it is about and how its events look."""

    core: Core
    served: Served
    selection: Selection
    form: Form
    bookmarks: bool
    initial: bool
    since: int
    seconds: float
    catalog: int

    def line(self, happening: Happening) -> bytes | None:
        """The event as bytes, made once for all watchers that see the same.

        None when it does not concern this one."""
        seen = happening.seen_by(self.selection)
        if seen is None:
            return None
        change, view = seen
        form = (self.served.api_version, self.form, change, view is happening.after)
        line = happening.frames.get(form)
        if line is None:
            data = show.one(self.served, view.data, self.form, self.core.now())
            line = happening.frames[form] = show.frame(change.name, data)
        return line


def watch_objects(core: Core, served: Served, request: Request) -> Answer:
    selection, form = selection_of(request, served), form_of(request)
    asked = request.query.get("resourceVersion", "")
    check_watch(request)
    initial = request.flag("sendInitialEvents")
    if initial and number(request, "resourceVersion") > core.store.current():
        raise errors.too_new(number(request, "resourceVersion"), core.store.current())
    session = Session(
        core=core,
        served=served,
        selection=selection,
        form=form,
        bookmarks=request.flag("allowWatchBookmarks"),
        initial=initial,
        since=number(request, "resourceVersion"),
        seconds=number(request, "timeoutSeconds") or random.uniform(*DEFAULT_SECONDS),
        catalog=core.catalog.generation,
    )
    from_now = initial or asked in ("", "0")
    watcher = core.hub.add(served.resource, selection, request.connection.abort)
    try:
        begin = _existing(session, watcher) if from_now else _missed(session, watcher)
    except Compacted as error:
        watcher.end()
        raise errors.expired(f"too old resource version: {asked} ({error.oldest})") from error
    except BaseException:
        watcher.end()
        raise
    request.connection.on_lost(watcher.end)
    return Answer(body=_stream(session, watcher, begin, request))


def _existing(session: Session, watcher: Watcher) -> list[bytes]:
    """Everything that the selection holds now, as if it had just been added."""
    listing = Listing(core=session.core, served=session.served, selection=session.selection)
    now = session.core.now()
    lines = [
        show.frame("ADDED", show.one(session.served, item.data, session.form, now))
        for page in listing.pages()
        for item in page
    ]
    watcher.since = listing.number
    if session.initial and session.bookmarks:
        lines.append(show.bookmark(session.served, listing.number, session.form, initial=True))
    return lines


def _missed(session: Session, watcher: Watcher) -> list[bytes]:
    """What happened after the revision that the client has seen."""
    core, resource = session.core, session.served.resource
    watcher.since = max(session.since, core.store.current())
    lines = []
    for revision, before in core.store.history(resource, session.since):
        watcher.since = max(watcher.since, revision.number)
        line = session.line(Happening(revision, lambda before=before: before))  # type: ignore[misc]
        if line is not None:
            lines.append(line)
    return lines


async def _stream(
    session: Session, watcher: Watcher, begin: list[bytes], request: Request
) -> AsyncIterator[bytes]:
    piece: bytes | None
    timer = asyncio.get_running_loop().call_later(session.seconds, watcher.expire)
    try:
        # Even an empty piece sends the response's head: the client knows that the watch stands.
        yield b""
        for piece in _pieces(begin):
            yield piece
        begin.clear()
        while (news := await watcher.next()) is not None:
            if not isinstance(news, int):
                for piece in _pieces(filter(None, map(session.line, news))):
                    yield piece
            elif session.bookmarks:
                yield show.bookmark(session.served, news, session.form)
            # Thousands wait, and none of them keeps what it sent last.
            news = piece = None
    finally:
        timer.cancel()
        request.connection.forget(watcher.end)
        watcher.end()


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines together, but not many: what was joined for a client that does not read is memory of its own,
    while the lines themselves are shared by all who watch the same."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    if piece:
        yield b"".join(piece)
