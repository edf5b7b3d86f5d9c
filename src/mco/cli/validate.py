"""`mco validate`: everything that is wrong with manifests, before anybody applies them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mco.cli.options import output_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mco.api.findings import Finding
    from mco.api.manifests import Manifests


@click.command("validate")
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
@output_option("text", "json")
def command(paths: tuple[str, ...], recursive: bool, output: str) -> None:
    """List everything that is wrong in manifests, offline.

    An error is what rendering or a node would refuse; a warning works, but is probably not meant.

    Exit codes: 0 no errors (warnings at most), 1 errors, 2 wrong usage.
    """
    from mco.api.findings import errors
    from mco.cli.manifests import load
    from mco.render.audit import audit

    manifests = load(paths, recursive=recursive)
    findings = audit(manifests)
    click.echo(_json(findings) if output == "json" else _text(findings, manifests))
    if errors(findings):
        sys.exit(1)


def _text(findings: Sequence[Finding], manifests: Manifests) -> str:
    from mco.api.findings import errors
    from mco.cli.table import describe_finding

    count = sum(map(len, (manifests.machine_configs, manifests.pools, manifests.controller_configs)))
    failures = len(errors(findings))
    warnings = _count(len(findings) - failures, "warning")
    summary = f"{_count(count, 'object')}: {_count(failures, 'error')}, {warnings}"
    return "\n".join((*map(describe_finding, findings), summary))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _json(findings: Sequence[Finding]) -> str:
    import msgspec

    from mco.api.findings import errors

    failures = len(errors(findings))
    report = {"errors": failures, "warnings": len(findings) - failures, "findings": list(findings)}
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
