"""Manifests from files, folders and standard input, with kubectl's rules for `-f` and `-R`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from mco.api.findings import Finding, of_error
from mco.api.manifests import Manifests, read
from mco.api.yaml import Document, load_documents
from mco.base.errors import InvalidInput, MCOError, NotFound
from mco.cli.main import describe

EXTENSIONS = (".json", ".yaml", ".yml")
STDIN = "-"
MAX_BYTES = 256 << 20
"""Of one source. A thousand MachineConfigs of the largest size that renders are not as long."""


def load(paths: Iterable[str], *, recursive: bool) -> Manifests:
    """All objects of `paths`; what cannot be read or parsed is among the findings beside them.

    Raises NotFound or InvalidInput for a path that does not exist or holds no manifests."""
    sources = dict.fromkeys(source for path in paths for source in _sources(path, recursive))
    found, findings = documents(sources)
    manifests = read(found)
    return msgspec.structs.replace(manifests, findings=(*findings, *manifests.findings))


def documents(sources: Iterable[str]) -> tuple[list[Document], list[Finding]]:
    """The documents of these files, and what is wrong with those that cannot be read or parsed."""
    found: list[Document] = []
    findings: list[Finding] = []
    for source in sources:
        try:
            found += load_documents(_bytes(source), _label(source))
        except InvalidInput as error:
            findings.append(of_error(error))
    return found, findings


def report_unreadable(findings: Iterable[Finding]) -> bool:
    """Prints what is wrong with the documents; tells whether anything forbids to go on."""
    forbidding = False
    for finding in findings:
        if finding.level == "warning":
            click.echo(f"Warning: {finding.subject}: {finding.message}", err=True)
        else:
            forbidding = True
            complain(finding.error())
    return forbidding


def complain(error: MCOError) -> None:
    click.echo(describe(error), err=True)


def _sources(path: str, recursive: bool) -> Iterator[str]:
    """The files of a path; a folder gives those with a known extension, in the order of their names."""
    place = Path(path)
    if path == STDIN or place.is_file():
        yield path
        return
    if not place.exists():
        hint = "save what is there to a file first" if "://" in path else ""
        raise NotFound(f'the path "{path}" does not exist', subject=path, hint=hint)
    if not place.is_dir():
        yield path  # a pipe, as in -f <(command)
        return
    found = sorted(str(file) for file in _files(place, recursive))
    if not found:
        hint = "" if recursive else "use -R to look into the folders below it"
        raise InvalidInput(
            f"error reading [{path}]: recognized file extensions are [{' '.join(EXTENSIONS)}]",
            subject=path,
            hint=hint,
        )
    yield from found


def _files(folder: Path, recursive: bool) -> Iterator[Path]:
    candidates = folder.rglob("*") if recursive else folder.iterdir()
    return (file for file in candidates if file.suffix in EXTENSIONS and file.is_file())


def _bytes(source: str) -> bytes:
    try:
        with _opened(source) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"error reading {_label(source)}: {error.strerror}", subject=source) from error
    if len(data) > MAX_BYTES:
        raise InvalidInput(
            f"error reading {_label(source)}: it is longer than {MAX_BYTES >> 20} MiB",
            subject=source,
            hint="pass the manifests in several files",
        )
    return data


def _opened(source: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if source != STDIN:
        return Path(source).open("rb")
    if sys.stdin is None:
        raise InvalidInput("error reading standard input: it is closed", subject=STDIN)
    return contextlib.nullcontext(sys.stdin.buffer)


def _label(source: str) -> str:
    return "standard input" if source == STDIN else source
