"""`mco bootstrap`: the first render, from manifests to what the bootstrap config server serves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mco.render.bootstrap import Bootstrap


@click.command("bootstrap")
@click.option(
    "--manifest-dir",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the manifests; every file in it is read, in the order of their names.",
)
@click.option(
    "--dest-dir",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for what `mco configserver bootstrap` serves; made if it is not there.",
)
def command(manifest_dir: Path, dest_dir: Path) -> None:
    """Render every pool's first config, before there is a cluster.

    The results have the names and bytes that the cluster gives them later, from the same objects. They are
    written below the destination: machine-configs, machine-pools, controller-config, api-server. Configs can
    hold secrets, so only the owner may read them.

    Exit codes: 0 written, 1 something is wrong with the input or the destination, 2 wrong usage.
    """
    from mco.cli.manifests import documents, report_unreadable
    from mco.render.bootstrap import bootstrap, gather
    from mco.render.checks import Versions
    from mco.runtime import version

    paths = sorted(str(path) for path in manifest_dir.iterdir() if path.is_file())
    found, unreadable = documents(paths)
    inputs = gather(found)
    if report_unreadable((*unreadable, *inputs.manifests.findings)):
        sys.exit(1)
    versions = Versions(raw=version.RAW, hash=version.commit())
    result = bootstrap(inputs, str(manifest_dir), versions)
    write(dest_dir, result)
    for rendered in result.rendered:
        for warning in rendered.warnings:
            click.echo(f"Warning: {warning}", err=True)
        click.echo(rendered.name)


def write(folder: Path, result: Bootstrap) -> None:
    """A config server that looks at the folder meanwhile never sees half a file, nor a pool whose config is
    not there yet."""
    from mco.cli.yamltext import text
    from mco.pki import files

    for name, body in result.files.items():
        path = folder / name
        files.private_folder(path.parent)
        files.write(path, text(body))
