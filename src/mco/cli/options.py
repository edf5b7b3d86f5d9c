"""Options that several commands share, checked before anything is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Seconds(click.ParamType[float]):
    """A finite number of seconds, not below zero."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = -1.0
        # Written so that nan is refused, too.
        if not 0 <= seconds <= 1e9:
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


def instance_option(text: str = "The instance of `mco up`.", variable: str = "name") -> Callable[[F], F]:
    return click.option(
        "--name",
        variable,
        default="default",
        show_default=True,
        metavar="INSTANCE",
        callback=_instance,
        help=text,
    )


def kubeconfig_option(
    text: str = "How to reach the API server; found as kubectl finds it.",
) -> Callable[[F], F]:
    return click.option("--kubeconfig", type=click.Path(path_type=Path), help=text)


def log_level_option(function: F) -> F:
    """With the original's way to say it."""
    verbosity = click.option(
        "--v",
        "verbosity",
        type=click.IntRange(min=0),
        expose_value=False,
        is_eager=True,
        callback=_verbosity,
        help="The same as klog counts: 4 and more is debug.",
    )
    return verbosity(_log_level(function))


def _verbosity(ctx: click.Context, _: click.Parameter, value: int | None) -> None:
    from mco.runtime.logging import CHATTY

    if value is not None and value >= CHATTY:
        ctx.default_map = {**(ctx.default_map or {}), "log_level": "debug"}


def _log_level(function: F) -> F:
    return click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="The least important lines to write to stderr.",
    )(function)


def output_option(*formats: str) -> Callable[[F], F]:
    """The first of `formats` is the default."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Output format.",
    )


def _instance(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The name becomes part of paths that are removed: nothing but a name may pass."""
    from mco.base.errors import InvalidInput
    from mco.fleet.instance import check_name

    try:
        return check_name(value)
    except InvalidInput as error:
        raise click.BadParameter(f"{error.message}; {error.hint}", ctx, param) from None
