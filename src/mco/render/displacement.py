"""An input can matter to an element that it took away.

Files, directories and links share their paths, arguments to have and not to have their texts. A directory in
place of an earlier file removes what that file said; if a later file brings the path back, it starts anew.
Leaving the directory out would let the first file show through again, so the directory has its part in the
result although it is not to be seen there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mco.ignition import types as t
from mco.ignition.merge import merge_all
from mco.ignition.origins import Element

_LISTS: Final = {
    "file": "files",
    "directory": "directories",
    "link": "links",
    "kernel argument": "should_exist",
    "absent kernel argument": "should_not_exist",
}


def with_displacing(element: Element, configs: Sequence[t.Config]) -> Element:
    """The element with those shadowed inputs among its setters without which it would look different."""
    # It takes one to be hidden and one to hide it.
    if len(element.shadowed) < 2 or element.kind not in _LISTS:
        return element
    parts = [_only(config, element.keys[0]) for config in configs]
    shown = _shown(parts, element)
    deciding = {
        index
        for index in element.shadowed
        if _shown([*parts[:index], t.EMPTY, *parts[index + 1 :]], element) != shown
    }
    inputs = tuple(sorted({*element.inputs, *deciding}))
    shadowed = tuple(index for index in element.shadowed if index not in deciding)
    return element._replace(inputs=inputs, shadowed=shadowed)


def _only(config: t.Config, key: str) -> t.Config:
    """What a config says about one path or argument."""
    storage, arguments = config.storage, config.kernel_arguments
    return t.Config(
        ignition=t.EMPTY.ignition,
        kernel_arguments=t.KernelArguments(
            should_exist=tuple(item for item in arguments.should_exist if item == key),
            should_not_exist=tuple(item for item in arguments.should_not_exist if item == key),
        ),
        storage=t.Storage(
            directories=tuple(node for node in storage.directories if node.path == key),
            files=tuple(node for node in storage.files if node.path == key),
            links=tuple(node for node in storage.links if node.path == key),
        ),
    )


def _shown(configs: Sequence[t.Config], element: Element) -> Any:
    config = merge_all(configs, plain_children=True).config
    holder = config.storage if element.kind in ("file", "directory", "link") else config.kernel_arguments
    return getattr(holder, _LISTS[element.kind])
