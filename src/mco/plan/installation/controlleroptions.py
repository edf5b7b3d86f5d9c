"""What a cluster may say of its controllers (`cluster-config`, key `controller.yaml`), as their arguments.

The operator keeps the components' manifests as the payload has them, so this is where whoever runs a cluster
turns the collection of rendered configs on, or sets its limits (docs/rendered-configs.md).
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from mco.base.errors import InvalidInput

KEY = "controller.yaml"
PATH = f"$.data['{KEY}']"

_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class ControllerOptions(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Options of `mco controller`, by their names there; None leaves the default. Times in seconds,
    `collect_rate` in configs a second."""

    collect: bool | None = None
    collect_rate: Annotated[float, msgspec.Meta(ge=0.1, le=1000)] | None = None
    keep_served: _Seconds | None = None
    keep_young: _Seconds | None = None
    keep_newest: Annotated[int, msgspec.Meta(ge=0, le=10_000)] | None = None
    settle: _Seconds | None = None

    def arguments(self) -> list[str]:
        """What the command line calls them."""
        said = {name: getattr(self, name) for name in self.__struct_fields__}
        return [_argument(name.replace("_", "-"), value) for name, value in said.items() if value is not None]


def read(document: Any) -> ControllerOptions:
    """Raises InvalidInput, whose message has the path inside the document."""
    try:
        return msgspec.convert(document, ControllerOptions)
    except msgspec.ValidationError as error:
        known = ", ".join(field.encode_name for field in msgspec.structs.fields(ControllerOptions))
        raise InvalidInput(f"{KEY}: {error}", path=PATH, hint=f"the options are {known}") from error


def _argument(option: str, value: float | bool) -> str:
    if isinstance(value, bool):
        return f"--{option}" if value else f"--no-{option}"
    return f"--{option}={value}"
