"""Provenance says what leaving one input out would show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mco.api.machineconfig import MachineConfig
from mco.base.errors import RenderError
from mco.ignition.schema import key_of
from mco.ignition.types import Resource
from mco.render import builtin
from mco.render.pool import render
from mco.render.rendered import Rendered
from tests.machineconfigs import controller, mc

paths = st.sampled_from(["/a", "/b", "/c"])
sources = st.sampled_from(["data:,1", "data:,2", "data:,3"])
optional = st.none() | st.booleans()


def _set(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings with the parts that are not None."""
    made = st.fixed_dictionaries(dict(parts))
    return made.map(lambda whole: {key: value for key, value in whole.items() if value is not None})


def _by(key: str, strategy: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(strategy, max_size=3, unique_by=lambda item: item[key])


contents = _set(source=sources, compression=st.none() | st.sampled_from(["", "gzip"]))
files = _by("path", _set(path=paths, contents=contents, mode=st.none() | st.sampled_from([384, 420])))
dropins = _by(
    "name",
    _set(
        name=st.sampled_from(["1.conf", "2.conf"]), contents=st.none() | st.sampled_from(["[A]\n", "[B]\n"])
    ),
)
units = _by(
    "name",
    _set(
        name=st.sampled_from(["x.service", "y.service"]),
        enabled=optional,
        contents=st.none() | st.sampled_from(["[Unit]\n", "[Install]\n"]),
        dropins=dropins,
    ),
)
keys = st.lists(st.sampled_from(["k1", "k2", "k3"]), max_size=3, unique=True)
users = _by("name", _set(name=st.just("core"), sshAuthorizedKeys=keys, passwordHash=st.none() | st.just("h")))
arguments = st.lists(st.sampled_from(["p", "q", "r"]), max_size=3, unique=True)


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    have = draw(arguments)
    have_not = [argument for argument in draw(arguments) if argument not in have]
    directories = [{"path": path} for path in draw(st.lists(paths, max_size=1))]
    taken = {item["path"] for item in directories}
    return {
        "storage": {
            "files": [item for item in draw(files) if item["path"] not in taken],
            "directories": directories,
        },
        "systemd": {"units": draw(units)},
        "passwd": {"users": draw(users)},
        "kernelArguments": {"shouldExist": have, "shouldNotExist": have_not},
    }


specs = _set(
    config=st.none() | configs(),
    kernelArguments=st.none() | st.lists(st.sampled_from(["x", "y"]), max_size=3),
    extensions=st.none() | st.lists(st.sampled_from(["usbguard", "ipsec"]), max_size=2),
    kernelType=st.none() | st.sampled_from(["default", "realtime", "64k-pages"]),
    fips=optional,
    osImageURL=st.none() | st.sampled_from(["i1", "i2"]),
    role=st.sampled_from(["worker", "edge"]),
    generated_by=st.none() | st.just("v"),
)


@st.composite
def inputs(draw: st.DrawFn) -> list[MachineConfig]:
    made = draw(st.lists(specs, min_size=2, max_size=4))
    return [mc(f"mc-{i}", spec.pop("config", None), **spec) for i, spec in enumerate(made)]


def rendered(configs: list[MachineConfig]) -> Rendered | None:
    try:
        return render(builtin.pool("edge"), configs, controller(baseOSContainerImage="base"))
    except RenderError:
        return None  # nothing is left to render


def parts(result: Rendered) -> Mapping[tuple[str, tuple[str, ...]], Any]:
    """Every part of the result that provenance speaks of, with what it shows."""
    found: dict[tuple[str, tuple[str, ...]], Any] = {}
    config = result.config
    for kind, elements in (
        ("file", config.storage.files),
        ("directory", config.storage.directories),
        ("unit", config.systemd.units),
        ("user", config.passwd.users),
    ):
        for element in elements:
            found[kind, (key_of(element),)] = _own(element)
    for unit in config.systemd.units:
        found |= {("drop-in", (unit.name, item.name)): item for item in unit.dropins}
    for user in config.passwd.users:
        found |= {("SSH key", (user.name, key)): True for key in user.ssh_authorized_keys}
    found |= {("kernel argument", (item,)): True for item in config.kernel_arguments.should_exist}
    found |= {("absent kernel argument", (item,)): True for item in config.kernel_arguments.should_not_exist}
    for field in ("kernelArguments", "extensions"):
        found |= {(field, (item,)): result.spec[field].count(item) for item in result.spec[field]}
    return found | {(field, ()): result.spec[field] for field in ("osImageURL", "kernelType", "fips")}


def _own(element: Any) -> dict[str, Any]:
    """An element without the parts that are elements themselves.

    `compression: ""` is no compression: it disappears as soon as two configs are merged."""
    inner = ("dropins", "ssh_authorized_keys", "groups")
    shown = {name: getattr(element, name) for name in element.__struct_fields__ if name not in inner}
    if "contents" in shown and isinstance(shown["contents"], Resource):
        shown["contents"] = msgspec.structs.replace(
            shown["contents"], compression=shown["contents"].compression or None
        )
    return shown


@given(inputs())
def test_leaving_one_input_out_changes_only_what_it_set(configs: list[MachineConfig]) -> None:
    whole = rendered(configs)
    assert whole is not None
    shown = parts(whole)
    facts = {(fact.kind, fact.keys): fact for fact in whole.provenance.facts}
    for left_out in configs:
        rest = rendered([config for config in configs if config is not left_out])
        without = parts(rest) if rest else {}
        for part, value in shown.items():
            fact = facts.get(part)
            changes = without.get(part) != value
            if fact is None:
                assert not changes or rest is None, (part, "has no provenance")
            elif left_out.name not in fact.set_by and rest is not None:
                assert not changes, (part, fact, left_out.name)


@given(inputs())
def test_what_nobody_else_mentions_vanishes_with_its_setters(configs: list[MachineConfig]) -> None:
    whole = rendered(configs)
    assert whole is not None
    shown = parts(whole)
    without: dict[tuple[str, ...], Mapping[tuple[str, tuple[str, ...]], Any]] = {}
    for fact in whole.provenance.facts:
        assert fact.set_by
        assert not set(fact.set_by) & set(fact.shadowed)
        if fact.shadowed:
            continue  # those who were overridden may say the same
        if fact.set_by not in without:
            rest = rendered([config for config in configs if config.name not in fact.set_by])
            without[fact.set_by] = parts(rest) if rest else {}
        part = (fact.kind, fact.keys)
        assert without[fact.set_by].get(part) != shown[part], fact
