"""`mco operator bootstrap`: from an installer's files to what a new cluster starts from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mco.cli.options import F
from mco.operator.bootstrapfiles import FILES
from mco.plan.installation.images import IMAGES, OURS

if TYPE_CHECKING:
    from mco.operator.bootstrap import Bootstrap
    from mco.plan.installation.images import Release


_FOLDER_MODE, _FILE_MODE = 0o755, 0o644


def _file_options(function: F) -> F:
    for file in reversed(FILES):
        function = click.option(
            f"--{file.option}",
            type=click.Path(path_type=Path),
            default=file.default or None,
            show_default=True,
            help=file.help,
        )(function)
    return function


def _image_options(function: F) -> F:
    for image in reversed(IMAGES):
        text = f"Image of {image.tag}." if image.key else f"Image of {image.tag}; nothing here uses it."
        function = click.option(f"--{image.option}", default="", metavar="IMAGE", help=text)(function)
    return function


@click.command()
@click.option(
    "--dest-dir",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for what is made; it is made if it is not there.",
)
@_file_options
@click.option("--release-image", default="", metavar="IMAGE", help="Image of the release that is installed.")
@click.option(
    "--image-references",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="ImageStream of the release; its images take the place of those of the options.",
)
@_image_options
@click.option(
    "--machine-config-oscontent-image",
    default="",
    metavar="IMAGE",
    help="Image of a former kind of operating system; nothing here uses it.",
)
@click.option("--baseos-image", default="", metavar="IMAGE", help="Image of the operating system.")
@click.option("--baseos-extensions-image", default="", metavar="IMAGE", help="Image of its extensions.")
def bootstrap(dest_dir: Path, release_image: str, image_references: Path | None, **given: Any) -> None:
    """Make what a new cluster starts from, before there is one.

    Of the files that an installer has made: the ControllerConfig that the operator will make in the cluster,
    the built-in pools, the Pod that renders and serves the first configs, and the manifests that machines
    need to join. The config of no machine is made here: `mco bootstrap` makes it of these manifests and of
    MachineConfigs.

    Exit codes: 0 written, 1 something is wrong with a file or the destination, 2 wrong usage.
    """
    from mco.operator import bootstrap as made_of
    from mco.operator import bootstrapsources

    release = _referenced(image_references) if image_references else _chosen(given)
    if not release.images.get(OURS):
        raise click.UsageError("--machine-config-operator-image or --image-references is needed")
    found = bootstrapsources.read({file.option: given[_variable(file.option)] for file in FILES})
    made = made_of.bootstrap(found, release, release_image)
    for warning in (*release.warnings, *found.warnings):
        click.echo(f"Warning: {warning}", err=True)
    _write(dest_dir, made)


def _chosen(given: dict[str, Any]) -> Release:
    from mco.plan.installation.images import Release

    return Release(
        images={image.name: given[_variable(image.option)] for image in IMAGES},
        base_os=given["baseos_image"],
        base_os_extensions=given["baseos_extensions_image"],
    )


def _referenced(path: Path) -> Release:
    from mco.api.yaml import load_all
    from mco.base.errors import InvalidInput
    from mco.plan.installation.images import referenced

    documents = load_all(path.read_bytes(), str(path))
    stream = documents[0] if len(documents) == 1 else None
    if not isinstance(stream, dict) or stream.get("kind") != "ImageStream":
        raise InvalidInput("expected one ImageStream", subject="--image-references", path=str(path))
    return referenced(stream, str(path))


def _variable(option: str) -> str:
    return option.replace("-", "_")


def _write(folder: Path, made: Bootstrap) -> None:
    """Everybody reads them, but for a secret."""
    from mco.cli.yamltext import text
    from mco.pki import files

    contents = {path: (text(body), _FILE_MODE) for path, body in made.objects.items()}
    contents |= {path: (raw, files.PRIVATE_FILE) for path, raw in made.secret.items()}
    for name, (raw, mode) in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
        files.write(path, raw, mode=mode)
