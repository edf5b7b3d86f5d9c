"""Laws of merging (spec/render.md 9) and of the origins that it reports."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mco.ignition import types as t
from mco.ignition.merge import merge, merge_all
from mco.ignition.schema import key_of
from tests.property.strategies import configs

many = st.lists(configs(), min_size=1, max_size=4)


@given(configs())
def test_the_empty_config_changes_nothing(config: t.Config) -> None:
    assert merge(t.EMPTY, config) == config
    assert merge(config, t.EMPTY) == config


@given(many)
def test_all_at_once_equals_one_after_the_other(inputs: list[t.Config]) -> None:
    assert merge_all(inputs).config == reduce(merge, inputs)


@given(configs())
def test_a_config_over_itself_stays_but_for_what_is_concatenated(config: t.Config) -> None:
    plain = without_concatenated_lists(config)
    assert merge(plain, plain) == plain


def without_concatenated_lists(config: t.Config) -> t.Config:
    """Also without headers that remove others."""

    def bare(resource: t.Resource) -> t.Resource:
        return replace(resource, http_headers=())

    storage = replace(
        config.storage,
        files=tuple(replace(f, append=(), contents=bare(f.contents)) for f in config.storage.files),
        filesystems=tuple(replace(f, options=(), mount_options=()) for f in config.storage.filesystems),
        raid=tuple(replace(r, options=()) for r in config.storage.raid),
        luks=tuple(replace(x, options=(), key_file=bare(x.key_file)) for x in config.storage.luks),
    )
    ignition = config.ignition
    references = replace(
        ignition.config,
        merge=tuple(bare(resource) for resource in ignition.config.merge),
        replace=bare(ignition.config.replace),
    )
    authorities = tuple(bare(resource) for resource in ignition.security.tls.certificate_authorities)
    security = replace(ignition.security, tls=t.TLS(certificate_authorities=authorities))
    return replace(config, storage=storage, ignition=replace(ignition, config=references, security=security))


@given(many)
def test_plain_children_equals_the_original_steps(inputs: list[t.Config]) -> None:
    """Before each merge a child's missing compression becomes empty, afterwards empty ones become missing."""
    expected = inputs[0]
    for child in inputs[1:]:
        expected = _compressed(merge(expected, _compressed(child, None, "")), "", None)
    assert merge_all(inputs, plain_children=True).config == expected


def _compressed(config: t.Config, old: str | None, new: str | None) -> t.Config:
    files = tuple(
        replace(file, contents=replace(file.contents, compression=new))
        if file.contents.compression == old
        else file
        for file in config.storage.files
    )
    return replace(config, storage=replace(config.storage, files=files))


@given(st.lists(configs(), min_size=2, max_size=4), st.booleans())
def test_leaving_a_shadowed_input_out_changes_nothing(inputs: list[t.Config], plain: bool) -> None:
    merged = merge_all(inputs, plain_children=plain)
    before = elements(merged.config)
    for element in merged.origins.elements:
        for source in element.shadowed:
            rest = [config for index, config in enumerate(inputs) if index != source]
            if len(rest) > 1 or not plain:  # a single config is not touched by the compression rule
                after = elements(merge_all(rest, plain_children=plain).config)
                assert after.get((element.kind, element.keys)) == before[element.kind, element.keys]


@given(many)
def test_every_element_of_the_result_has_an_origin(inputs: list[t.Config]) -> None:
    merged = merge_all(inputs)
    assert {(e.kind, e.keys) for e in merged.origins.elements} == elements(merged.config).keys()
    assert all(element.inputs for element in merged.origins.elements)
    assert not any(set(element.inputs) & set(element.shadowed) for element in merged.origins.elements)


@given(many)
def test_an_element_of_one_input_alone_vanishes_with_it(inputs: list[t.Config]) -> None:
    merged = merge_all(inputs)
    for element in merged.origins.elements:
        if len(element.inputs) == 1 and not element.shadowed:
            rest = [config for index, config in enumerate(inputs) if index != element.inputs[0]]
            assert (element.kind, element.keys) not in elements(merge_all(rest).config)


def elements(config: t.Config) -> dict[tuple[str, tuple[str, ...]], Any]:
    """What people look for, with its own fields: parts that have an origin of their own stand for
    themselves."""
    return dict(_elements(config))


def _elements(config: t.Config) -> Iterator[tuple[tuple[str, tuple[str, ...]], Any]]:
    storage, arguments, ignition = config.storage, config.kernel_arguments, config.ignition
    lists: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("array", storage.raid),
        ("directory", storage.directories),
        ("encrypted device", storage.luks),
        ("file", storage.files),
        ("filesystem", storage.filesystems),
        ("link", storage.links),
        ("group", config.passwd.groups),
        ("kernel argument", arguments.should_exist),
        ("absent kernel argument", arguments.should_not_exist),
        ("proxy exception", ignition.proxy.no_proxy),
        ("merged config", ignition.config.merge),
        ("certificate authority", ignition.security.tls.certificate_authorities),
    )
    for kind, members in lists:
        yield from (((kind, (key_of(member),)), member) for member in members)
    for unit in config.systemd.units:
        yield ("unit", (unit.name,)), replace(unit, dropins=())
        yield from ((("drop-in", (unit.name, dropin.name)), dropin) for dropin in unit.dropins)
    for user in config.passwd.users:
        yield ("user", (user.name,)), replace(user, groups=(), ssh_authorized_keys=())
        yield from ((("SSH key", (user.name, key)), key) for key in user.ssh_authorized_keys)
        yield from ((("group membership", (user.name, group)), group) for group in user.groups)
    for disk in storage.disks:
        yield ("disk", (disk.device,)), replace(disk, partitions=())
        yield from ((("partition", (disk.device, key_of(part))), part) for part in disk.partitions)
