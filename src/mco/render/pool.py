"""Renders a pool: one MachineConfig out of those that it selects (spec/render.md 1.2 to 1.8).

`render` is the whole production: select, check, order, merge, describe. It touches nothing outside its
arguments, gives the same bytes and the same name everywhere, and refuses nothing that the original accepts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mco.api.controllerconfig import ControllerConfig
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import RenderError
from mco.render.checks import Versions, check_config, check_versions
from mco.render.describe import made_by
from mco.render.merge import BaseImages, merge
from mco.render.rendered import Rendered
from mco.render.selection import in_merge_order, select, subject
from mco.render.sources import Sources

_OFFLINE = Versions()


def render(
    pool: MachineConfigPool,
    inputs: Iterable[MachineConfig],
    controller: ControllerConfig,
    versions: Versions = _OFFLINE,
    *,
    sources: Sources | None = None,
) -> Rendered:
    """The rendered config of `pool` out of those of `inputs` that it selects.

    `sources` keeps parsed configs from one call to the next. Raises RenderError with the original's text, as
    it follows `Failed to render configuration for pool <name>: ` in the pool's condition."""
    selected = select(pool, inputs)
    try:
        return _generate(pool, selected, controller, versions, sources or Sources())
    except RenderError as error:
        raise RenderError(
            f"could not generate rendered MachineConfig: {error.message}",
            subject=error.subject or subject(pool),
            path=error.path,
            hint=error.hint,
        ) from error


def _generate(
    pool: MachineConfigPool,
    selected: Sequence[MachineConfig],
    controller: ControllerConfig,
    versions: Versions,
    sources: Sources,
) -> Rendered:
    check_versions(controller, selected, versions)
    for config in selected:
        check_config(config, sources)
    ordered = in_merge_order(selected)
    images = BaseImages(
        controller.spec.base_os_container_image, controller.spec.base_os_extensions_container_image
    )
    merged = merge(ordered, images, sources)
    overridden = merged.os_image != images.os
    if overridden and pool.spec.os_image_stream.name:
        raise RenderError(
            "cannot override MachineConfig osImageURL and set MachineConfigPool spec.osImageStream.name "
            "simultaneously",
            subject=subject(pool),
            path="$.spec.osImageStream.name",
            hint="remove osImageURL from the MachineConfigs, or the stream from the pool",
        )
    said = made_by(controller, versions, overridden=overridden)
    rendered = Rendered(pool, ordered, merged, said, overridden=overridden)
    # Naming can fail, and then the pool cannot be rendered.
    assert rendered.name
    return rendered
