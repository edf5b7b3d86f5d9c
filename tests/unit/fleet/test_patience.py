"""A server that is away for a moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from mco.base.errors import Conflict, MCOError, Unavailable
from mco.fleet.patience import patiently
from mco.runtime import virtual


def answers(*given: MCOError | str) -> Callable[[], Awaitable[str]]:
    left = list(given)

    async def attempt() -> str:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, MCOError):
            raise answer
        return answer

    return attempt


def test_it_is_asked_again_until_it_answers() -> None:
    assert virtual.run(patiently(answers(Unavailable("a"), Unavailable("b"), "yes"))) == "yes"


def test_other_errors_are_answers() -> None:
    with pytest.raises(Conflict):
        virtual.run(patiently(answers(Conflict("a"), "yes")))


def test_patience_ends() -> None:
    with pytest.raises(Unavailable, match="still away"):
        virtual.run(patiently(answers(Unavailable("still away"))))
