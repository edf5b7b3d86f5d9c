"""Laws that tie lists and watches together, over arbitrary histories of the embedded server's store."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from mco.api.meta import selectors
from mco.apiserver.core import Core
from mco.apiserver.errors import StatusError
from mco.apiserver.http.lists import Listing
from mco.apiserver.registry.served import Served
from mco.apiserver.store.revision import Change, Key
from mco.apiserver.watch.hub import Happening
from mco.apiserver.watch.selection import FieldTest, Selection, View

Step = tuple[str, str, str]
"""What is done (`create`, `label`, `delete`), to which object, with which label."""

steps = st.lists(
    st.tuples(
        st.sampled_from(["create", "label", "label", "delete"]),
        st.sampled_from("abcd"),
        st.sampled_from("xy"),
    ),
    max_size=25,
)
selections = st.sampled_from(
    [
        Selection(),
        Selection("default"),
        Selection(labels=selectors.parse("l=x")),
        Selection(labels=selectors.parse("l!=x")),
        Selection(fields=(FieldTest("metadata.name", "a"),)),
        Selection("default", selectors.parse("l=y"), (FieldTest("metadata.name", "b", equal=False),)),
    ]
)


async def _take(core: Core, served: Served, step: Step) -> None:
    verb, name, label = step
    labels = {"metadata": {"name": name, "labels": {"l": label}}}
    try:
        if verb == "create":
            await core.writes.create(served, "default", labels, core.own())
        elif verb == "label":
            await core.writes.update(served, "default", name, lambda old: _labelled(old, label), core.own())
        else:
            await core.writes.delete(served, "default", name, core.own())
    except StatusError as error:
        if error.code not in (404, 409):
            raise


def _labelled(old: dict[str, Any], label: str) -> dict[str, Any]:
    return {**old, "metadata": {**old["metadata"], "labels": {"l": label}}}


def _listed(core: Core, served: Served, selection: Selection, **more: Any) -> tuple[dict[Key, bytes], int]:
    listing = Listing(core=core, served=served, selection=selection, **more)
    found = {item.key: item.data for page in listing.pages() for item in page}
    return found, listing.number


async def _check(history: list[Step], selection: Selection, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        core = Core(Path(folder))
        try:
            namespaces, served = (
                core.catalog.find("", "v1", "namespaces"),
                core.catalog.find("", "v1", "configmaps"),
            )
            assert namespaces is not None
            assert served is not None
            await core.writes.create(namespaces, "", {"metadata": {"name": "default"}}, core.own())
            for step in history[:cut]:
                await _take(core, served, step)
            before, revision = _listed(core, served, selection)
            for step in history[cut:]:
                await _take(core, served, step)
            _the_past_stays(core, served, selection, before, revision)
            _events_lead_to_the_present(core, served, selection, before, revision)
        finally:
            core.close()


def _the_past_stays(
    core: Core, served: Served, selection: Selection, before: dict[Key, bytes], revision: int
) -> None:
    """A list as of a revision is the list that was given at that revision, whole and in pages."""
    whole, number = _listed(core, served, Selection(selection.namespace), number=revision)
    assert number == revision
    assert {k: v for k, v in whole.items() if selection.matches(View(k, v))} == before
    pages: dict[Key, bytes] = {}
    after, following = ("", ""), True
    while following:
        listing = Listing(
            core=core, served=served, selection=selection, limit=1, number=revision, after=after
        )
        (page,) = [[item for part in listing.pages() for item in part]]
        assert len(page) <= 1
        pages |= {item.key: item.data for item in page}
        following = listing.following is not None
        if listing.following:
            after = (listing.following.namespace, listing.following.name)
    assert pages == before


def _events_lead_to_the_present(
    core: Core, served: Served, selection: Selection, state: dict[Key, bytes], revision: int
) -> None:
    """Whoever listed and then applies every event of a watch has what a new list gives."""
    for change, previous in core.store.history(served.resource, revision):
        seen = Happening(change, lambda previous=previous: previous).seen_by(selection)  # type: ignore[misc]
        if seen is None:
            continue
        kind, view = seen
        assert (kind is Change.ADDED) == (change.key not in state)
        assert msgspec.json.decode(view.data)["metadata"]["resourceVersion"] == str(change.number)
        if kind is Change.DELETED:
            del state[change.key]
        else:
            state[change.key] = view.data
    assert state == _listed(core, served, selection)[0]


@settings(max_examples=25)
@given(steps, selections, st.integers(0, 25))
def test_lists_and_watches_agree(history: list[Step], selection: Selection, cut: int) -> None:
    asyncio.run(_check(history, selection, cut))
