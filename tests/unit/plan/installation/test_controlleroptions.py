"""Options of the controllers that a cluster says."""

from __future__ import annotations

from typing import Any

import click
import pytest

from mco.base.errors import InvalidInput
from mco.cli.controller import command
from mco.plan.installation.controlleroptions import read

EVERYTHING = {
    "collect": True,
    "collectRate": 0.5,
    "keepServed": 60,
    "keepYoung": 0,
    "keepNewest": 3,
    "settle": 1.5,
}


def parsed(options: dict[str, Any]) -> dict[str, Any]:
    """As the command itself reads what the operator hands it."""
    with command.make_context("controller", read(options).arguments()) as context:
        return dict(context.params)


def test_each_reaches_the_command() -> None:
    found = parsed(EVERYTHING)
    assert {name: found[name] for name in ("collect", "collect_rate", "keep_served", "keep_young")} == {
        "collect": True,
        "collect_rate": 0.5,
        "keep_served": 60.0,
        "keep_young": 0.0,
    }
    assert (found["keep_newest"], found["settle"]) == (3, 1.5)


def test_what_is_not_said_has_its_default() -> None:
    assert read({}).arguments() == []
    assert parsed({"collect": False})["collect"] is False


@pytest.mark.parametrize(
    ("option", "value"),
    [("collectRate", 1000), ("collectRate", 0.1), ("keepServed", 1e9), ("keepNewest", 10_000), ("settle", 0)],
)
def test_whatever_is_accepted_the_command_accepts(option: str, value: float) -> None:
    try:
        parsed({option: value})
    except click.UsageError as error:
        pytest.fail(error.format_message())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"collect": "yes"}, "Expected `bool | null`, got `str` - at `$.collect`"),
        ({"keepYoung": -1}, "Expected `float` >= 0.0 - at `$.keepYoung`"),
        ({"keepNewest": 1.5}, "Expected `int | null`, got `float` - at `$.keepNewest`"),
        ({"collectRate": 0}, "Expected `float` >= 0.1 - at `$.collectRate`"),
        ({"colect": True}, "Object contains unknown field `colect`"),
    ],
)
def test_what_is_none_is_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(options)
    assert caught.value.message == f"controller.yaml: {text}"
    assert "collectRate, keepServed" in caught.value.hint
