"""What the records of a journal add up to, from every prefix of a life."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.host.records import (
    After,
    Before,
    Begin,
    Finished,
    JournalState,
    Rebooting,
    Record,
    Undoing,
    Undone,
    advance,
    begun,
    replay,
)

BEGIN = Begin(version=1, id="1", source="a", target="b", boot_id="boot", actions=(0, 1, 2))


def life(reached: int, complete: bool) -> list[Record]:
    """An update that goes forward to `reached`, then back."""
    records: list[Record] = []
    for index in range(reached):
        records += [Before(index=index), After(index=index)]
    if not complete:
        records = records[:-1]
    records.append(Undoing(reason="why"))
    records += [Undone(index=index) for index in reversed(range(reached))]
    return [*records, Finished(outcome="failed")]


@given(st.integers(1, 3), st.booleans(), st.data())
def test_every_prefix_tells_what_may_have_happened(reached: int, complete: bool, data: st.DataObject) -> None:
    records = life(reached, complete)
    end = data.draw(st.integers(0, len(records)))
    seen = records[:end]
    state = replay(BEGIN, seen)
    started = {record.index for record in seen if isinstance(record, Before)}
    undone = {record.index for record in seen if isinstance(record, Undone)}
    assert set(state.to_undo) == started - undone
    assert list(state.to_undo) == sorted(state.to_undo, reverse=True)
    assert state.undoing == any(isinstance(record, Undoing) for record in seen)
    assert state.finished == (end == len(records))


def test_the_reason_of_the_undoing_stays_with_the_end() -> None:
    state = replay(BEGIN, life(2, True))
    assert (state.outcome, state.reason) == ("failed", "why")


def test_reboots_are_told_in_order() -> None:
    state = replay(BEGIN, [Rebooting(boot_id="one"), Rebooting(boot_id="two")])
    assert state.reboots == ("one", "two")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([After(index=0)], "action 0 is pending and cannot become applied"),
        ([Undone(index=0)], "action 0 is pending and cannot become undone"),
        ([Before(index=0), Before(index=0)], "action 0 is started and cannot become started"),
        ([Before(index=3)], "there is no action 3"),
        ([Before(index=-1)], "there is no action -1"),
        ([Finished(outcome="done"), Before(index=0)], "a record Before after the end"),
        ([BEGIN], "a second beginning"),
    ],
)
def test_records_that_cannot_follow_are_refused(records: list[Record], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replay(BEGIN, records)


def test_a_beginning_has_everything_to_do() -> None:
    state = begun(BEGIN)
    assert (state.next, state.to_undo, state.finished) == (0, (), False)
    done: JournalState = state
    for index in range(3):
        done = advance(advance(done, Before(index=index)), After(index=index))
    assert done.next is None
