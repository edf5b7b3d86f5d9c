"""`mco render`: what a pool's nodes would run, from manifests alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mco.api.manifests import Manifests
    from mco.render.rendered import Rendered


@click.command("render")
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    required=True,
    metavar="PATH",
    help="File, folder or - (standard input) with manifests; repeatable.",
)
@click.option("-R", "--recursive", is_flag=True, help="Look into the folders below, too.")
@click.option(
    "--pool",
    "pools",
    multiple=True,
    required=True,
    metavar="POOL",
    help="Pool to render: one of the manifests, or a built-in one; repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "name", "provenance"]),
    default="yaml",
    show_default=True,
    help="The object, its name only, or which MachineConfig set what.",
)
def command(paths: tuple[str, ...], recursive: bool, pools: tuple[str, ...], output: str) -> None:
    """Render a pool's MachineConfigs offline.

    Needs no cluster: MachineConfigs, pools and the ControllerConfig are read from the given files. A pool
    that they do not hold is the built-in one (worker, master), or selects the roles worker and its own name.
    Without a ControllerConfig there are no base images.

    Exit codes: 0 rendered, 1 something is wrong with the input or the result, 2 wrong usage.
    """
    from mco.cli.manifests import complain, load, report_unreadable

    manifests = load(paths, recursive=recursive)
    if report_unreadable(manifests.findings):
        sys.exit(1)
    rendered, failed = _render(manifests, dict.fromkeys(pools))
    if rendered:
        click.echo(_format(rendered, output, alone=len(pools) == 1), nl=False)
    for result in rendered:
        for warning in result.warnings:
            click.echo(f"Warning: {warning}", err=True)
        if (error := result.too_large) is not None:
            failed = True
            complain(error)
    if failed:
        sys.exit(1)


def _render(manifests: Manifests, pools: Iterable[str]) -> tuple[list[Rendered], bool]:
    from mco.base.errors import MCOError
    from mco.cli.manifests import complain
    from mco.render import builtin
    from mco.render.pool import render
    from mco.render.sources import Sources

    written = {pool.name: pool for pool in manifests.pools}
    sources = Sources()
    rendered, failed = [], False
    for name in pools:
        try:
            pool = written.get(name) or builtin.pool(name)
            rendered.append(
                render(pool, manifests.machine_configs, manifests.controller_config, sources=sources)
            )
        except MCOError as error:
            failed = True
            error.message = f"Failed to render configuration for pool {name}: {error.message}"
            complain(error)
    return rendered, failed


def _format(rendered: list[Rendered], output: str, *, alone: bool) -> str:
    import msgspec

    from mco.render.yamltext import dump

    if output == "name":
        return "".join(f"{result.name}\n" for result in rendered)
    if output == "provenance":
        return "\n".join(_provenance(result) for result in rendered)
    objects = [result.machine_config for result in rendered]
    if output == "yaml":
        return "---\n".join(dump(item) for item in objects)
    whole = objects[0] if alone else {"apiVersion": "v1", "kind": "List", "items": objects}
    return msgspec.json.format(msgspec.json.encode(whole), indent=4).decode() + "\n"


def _provenance(result: Rendered) -> str:
    """One line for each part of the result, under the result's name."""
    rows = [("KIND", "NAME", "SET BY", "SHADOWED")]
    for fact in result.provenance.facts:
        name = " ".join(fact.keys) or "-"
        rows.append((fact.kind, _one_line(name), ", ".join(fact.set_by), ", ".join(fact.shadowed) or "-"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = (
        "   ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    )
    return "\n".join((f"# {result.name}", *lines)) + "\n"


def _one_line(text: str, width: int = 60) -> str:
    """Keys and arguments may be long; both ends tell them apart."""
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return text if len(text) <= width else f"{text[: width - 20]}...{text[-17:]}"
