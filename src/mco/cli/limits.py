"""Options of the commands that decide which rendered configs stay."""

from __future__ import annotations

import click

from mco.cli.options import F, Seconds


def collection_options(function: F) -> F:
    """`collect` and `collect_rate`."""
    for option in (
        click.option(
            "--collect-rate",
            type=click.FloatRange(0.1, 1000),
            default=20.0,
            show_default=True,
            help="So many of them a second.",
        ),
        click.option(
            "--collect/--no-collect",
            default=False,
            show_default=True,
            help="Remove rendered configs that nobody needs any more; without, they stay for ever.",
        ),
    ):
        function = option(function)
    return function


def limit_options(function: F) -> F:
    """Which rendered configs stay though nobody needs them: `keep_served`, `keep_young`, `keep_newest`."""
    for option in (
        click.option(
            "--keep-newest",
            type=click.IntRange(0, 10_000),
            default=5,
            show_default=True,
            help="So many rendered configs of each pool stay in any case, to go back to.",
        ),
        click.option(
            "--keep-young",
            type=Seconds(),
            default=3600.0,
            show_default=True,
            help="Seconds that a rendered config stays after it was created.",
        ),
        click.option(
            "--keep-served",
            type=Seconds(),
            default=86400.0,
            show_default=True,
            help="Seconds that it stays after machines were served it, so that they can join.",
        ),
    ):
        function = option(function)
    return function
