"""The result of rendering a pool: the object to create, and why it is as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import RenderError
from mco.ignition import encode
from mco.ignition.types import Config
from mco.render.describe import metadata
from mco.render.merge import MergedSpec, spec_fields
from mco.render.naming import rendered_name
from mco.render.provenance import Provenance, provenance


class Rendered:
    """A rendered pool. Values that cost something are computed when they are first asked for."""

    def __init__(
        self,
        pool: MachineConfigPool,
        inputs: Sequence[MachineConfig],
        merged: MergedSpec,
        annotations: Mapping[str, str],
        *,
        overridden: bool,
    ) -> None:
        self.pool = pool
        self.inputs = tuple(inputs)
        """The MachineConfigs that took part, in merge order."""
        self.overridden = overridden
        """Whether a MachineConfig replaced the base OS image."""
        self._merged = merged
        self._annotations = annotations

    @property
    def config(self) -> Config:
        """The merged Ignition config."""
        return self._merged.config

    @property
    def os_image(self) -> str:
        return self._merged.os_image

    @property
    def source(self) -> tuple[str, ...]:
        """Names of the inputs in merge order, for the pool's `spec.configuration.source`."""
        return tuple(item.name for item in self.inputs)

    @cached_property
    def config_json(self) -> bytes:
        """The Ignition config as the original writes it."""
        return encode.to_json(self._merged.config)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The rendered spec as builtins, with all its seven keys."""
        return spec_fields(self._merged, msgspec.json.decode(self.config_json))

    @cached_property
    def name(self) -> str:
        """`rendered-<pool>-<hash>`. Raises RenderError where the original cannot hash its own result."""
        return rendered_name(self.pool.name, self.spec)

    @property
    def machine_config(self) -> dict[str, Any]:
        """The object to create, as builtins."""
        return {"apiVersion": names.API_VERSION, "kind": "MachineConfig", **self._body(self.spec)}

    @cached_property
    def size(self) -> int:
        """Bytes of the object as JSON, as the original counts them: before the server adds its metadata."""
        return len(encode.dumps(self._body(spec_fields(self._merged, msgspec.Raw(self.config_json)))))

    @property
    def too_large(self) -> RenderError | None:
        """The error of a result that the API server could not store (spec/render.md 1.6)."""
        if self.size <= names.MAX_RENDERED_BYTES:
            return None
        return RenderError(
            f"size validation failed: rendered MachineConfig {self.name} is too large "
            f"({self.size} bytes, max {names.MAX_RENDERED_BYTES} bytes)",
            subject=f"MachineConfigPool/{self.pool.name}",
            hint=f"compress the contents of large files with gzip; largest input: {self._largest()}",
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What works, but is likely to surprise."""
        if self.overridden and "sha256:" not in self.os_image:
            return (f"osImageURL {self.os_image} is not pinned to a digest (sha256:...)",)
        return ()

    @cached_property
    def provenance(self) -> Provenance:
        """Which input set which part of the result, and which ones it shadowed."""
        return provenance(self.inputs, self._merged)

    def _body(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": metadata(self.name, self.pool, dict(self._annotations)), "spec": spec}

    def _largest(self) -> str:
        largest = max(self.inputs, key=lambda item: len(item.spec.config))
        return f"MachineConfig/{largest.name} with {len(largest.spec.config)} bytes of config"
