"""Which MachineConfig set which part of a rendered config, and which ones it shadowed.

For every part of the result: an input that is *shadowed* mentions it, but leaving that input out would not
change it; an input that *set* it changes it when left out, unless another input says the same; any other
input has no influence on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mco.api.machineconfig import MachineConfig
from mco.render.merge import MergedSpec, is_generated, is_special


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the result: `kind` is `file`, `unit`, `drop-in`, `SSH key`, `kernelArguments`, `osImageURL`
    and the like; `keys` lead to it, as `("sshd.service", "10-limits.conf")`. `set_by` and `shadowed` are
    names of MachineConfigs in merge order, so the last one of `set_by` has the last word."""

    kind: str
    keys: tuple[str, ...]
    set_by: tuple[str, ...]
    shadowed: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return " ".join((self.kind, *self.keys))


class Provenance(msgspec.Struct, frozen=True):
    """All parts of a result, in its order."""

    facts: tuple[Fact, ...]

    def of(self, kind: str, *keys: str) -> Fact | None:
        """One part, as `of("file", "/etc/motd")` or `of("osImageURL")`."""
        return next((fact for fact in self.facts if fact.kind == kind and fact.keys == keys), None)


def provenance(inputs: Sequence[MachineConfig], merged: MergedSpec) -> Provenance:
    """`inputs` in merge order, `merged` what they gave."""
    return Provenance((*_of_config(inputs, merged), *_of_lists(inputs), *_of_values(inputs)))


def _of_config(inputs: Sequence[MachineConfig], merged: MergedSpec) -> Iterator[Fact]:
    names = [inputs[index].name for index in merged.ignition_inputs]
    for element in merged.origins.elements:
        yield Fact(
            kind=element.kind,
            keys=element.keys,
            set_by=tuple(names[index] for index in element.inputs),
            shadowed=tuple(names[index] for index in element.shadowed),
        )


def _of_lists(inputs: Sequence[MachineConfig]) -> Iterator[Fact]:
    """Lists of the spec are joined without removing what stands in them twice: nothing is ever shadowed."""
    for kind, values in (
        ("kernelArguments", [(item.name, item.spec.kernel_arguments or ()) for item in inputs]),
        ("extensions", [(item.name, item.spec.extensions or ()) for item in inputs]),
    ):
        setters: dict[str, dict[str, None]] = {}
        for name, entries in values:
            for entry in entries:
                setters.setdefault(entry, {})[name] = None
        for entry, by in setters.items():
            yield Fact(kind=kind, keys=(entry,), set_by=tuple(by))


def _of_values(inputs: Sequence[MachineConfig]) -> Iterator[Fact]:
    images = (
        ("osImageURL", [item for item in inputs if item.spec.os_image_url]),
        (
            "baseOSExtensionsContainerImage",
            [item for item in inputs if item.spec.base_os_extensions_container_image],
        ),
    )
    for kind, naming in images:
        yield from _last_wins(kind, naming, [item for item in naming if not is_generated(item)])
    kernels = [item for item in inputs if item.spec.kernel_type]
    yield from _last_wins("kernelType", kernels, [i for i in kernels if is_special(i.spec.kernel_type)])
    fips = tuple(item.name for item in inputs if item.spec.fips)
    if fips:
        yield Fact(kind="fips", keys=(), set_by=fips)


def _last_wins(
    kind: str, naming: Sequence[MachineConfig], effective: Sequence[MachineConfig]
) -> Iterator[Fact]:
    if effective:
        winner = effective[-1]
        shadowed = tuple(item.name for item in naming if item is not winner)
        yield Fact(kind=kind, keys=(), set_by=(winner.name,), shadowed=shadowed)
