"""Plain tables, as kubectl prints them, and findings as every command prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mco.api.findings import Finding

_GAP = "   "


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; empty cells are `-`, the last column is not padded. Only the
    first line of a cell is shown."""
    cells = [tuple((cell.splitlines() or ["-"])[0] or "-" for cell in row) for row in rows]
    widths = [max(len(row[i]) for row in (tuple(header), *cells)) for i in range(len(header))]
    lines = (
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in (header, *cells)
    )
    return "\n".join(line.rstrip() for line in lines)


def describe_finding(finding: Finding) -> str:
    """Level, object, path and sentence; below it the place and what to do."""
    where = " ".join(filter(None, (finding.subject, finding.path)))
    lines = [f"{finding.level}: {where}: {finding.message}"]
    if finding.place:
        lines.append(f"  at: {finding.place}")
    if finding.hint:
        lines.append(f"  hint: {finding.hint}")
    return "\n".join(lines)
