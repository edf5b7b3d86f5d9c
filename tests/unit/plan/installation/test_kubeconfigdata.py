"""spec/operator.md 1.11: authorities of the API server settle before machines get them."""

from __future__ import annotations

import pytest

from mco.plan.installation.kubeconfigdata import SETTLE, Seen, due, seen


@pytest.mark.parametrize(
    ("have", "seconds", "written"),
    [
        (None, 0.0, True),
        (b"new", SETTLE, False),
        (b"old", SETTLE - 1, False),
        (b"old", SETTLE, True),
    ],
)
def test_when_it_is_written(have: bytes | None, seconds: float, written: bool) -> None:
    assert due(Seen(b"new", 100.0), have, 100.0 + seconds) is written


def test_every_change_starts_the_wait_anew() -> None:
    first = seen(None, b"1", 0.0)
    assert seen(first, b"1", 50.0) == first
    second = seen(first, b"2", 50.0)
    assert not due(second, b"old", 50.0 + SETTLE - 1)
    assert due(second, b"old", 50.0 + SETTLE)
