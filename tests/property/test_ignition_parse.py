"""Laws of reading, judging and writing configs."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mco.ignition import types as t
from mco.ignition.document import Document, JSONSyntaxError
from mco.ignition.encode import to_builtins, to_json
from mco.ignition.parse import parse
from mco.ignition.report import IgnitionError
from mco.ignition.schema import is_zero
from mco.ignition.units import UnitError
from mco.ignition.units import parse as parse_unit
from mco.ignition.validate import validate
from tests.property.strategies import configs, valid_configs

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def damaged(value: Any, draw: Any) -> Any:
    """The same document with some part of it replaced by anything."""
    if draw(st.integers(0, 6)) == 0:
        return draw(json_values)
    if isinstance(value, dict):
        return {draw(st.sampled_from((k, k, k, k.upper()))): damaged(v, draw) for k, v in value.items()}
    if isinstance(value, list):
        return [damaged(item, draw) for item in value]
    return value


@st.composite
def damaged_documents(draw: Any) -> bytes:
    return json.dumps(damaged(to_builtins(draw(valid_configs())), draw)).encode()


@given(configs())
def test_what_is_encoded_decodes_to_the_same_config(config: t.Config) -> None:
    assert msgspec.json.decode(to_json(config), type=t.Config) == config
    assert msgspec.convert(to_builtins(config), t.Config) == config
    assert json.loads(to_json(config)) == to_builtins(config)


@given(configs())
def test_no_struct_without_content_is_written_but_as_a_list_element(config: t.Config) -> None:
    def members(value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [*value.values(), *(m for v in value.values() for m in members(v))]
        return [m for v in value for m in members(v)] if isinstance(value, list) else []

    assert {} not in members(to_builtins(config))


@given(valid_configs())
def test_a_valid_config_parses_to_itself_without_errors(config: t.Config) -> None:
    parsed = parse(to_json(config))
    assert parsed.config == config
    assert parsed.version == t.VERSION
    assert not parsed.report.fatal


@given(configs())
def test_validation_never_raises_and_names_places_that_exist(config: t.Config) -> None:
    report = validate(config)
    for entry in report.entries:
        assert entry.path.startswith("$.")
        assert entry.message


@given(configs(), st.integers(0, 5))
def test_older_rules_never_raise(config: t.Config, minor: int) -> None:
    validate(config, minor)


@given(configs())
def test_parsing_agrees_with_validation(config: t.Config) -> None:
    """The text's report is the config's, with positions."""
    expected = [(entry.kind, entry.path, entry.message) for entry in validate(config).entries]
    try:
        report = parse(to_json(config)).report
    except IgnitionError as error:
        report = error.report
    assert [(entry.kind, entry.path, entry.message) for entry in report.entries] == expected


@given(st.binary(max_size=60))
def test_any_bytes_are_parsed_or_refused(raw: bytes) -> None:
    with suppress(IgnitionError):
        parse(raw)


@given(damaged_documents())
def test_damaged_documents_are_parsed_or_refused(raw: bytes) -> None:
    with suppress(IgnitionError):
        parse(raw)


@given(json_values)
def test_the_exact_reader_takes_all_json(value: Any) -> None:
    def plain(node: Any) -> Any:
        match node.kind:
            case "object":
                return {key: plain(child) for key, _, child in node.members}
            case "array":
                return [plain(item) for item in node.items]
            case "number":
                return json.loads(node.value)
            case "null":
                return None
        return node.value

    text = json.dumps(value, ensure_ascii=False).encode()
    assert plain(Document(text).root) == value


@given(st.binary(max_size=40) | st.text(alphabet='{}[]",:0-1e.tfn \\', max_size=12).map(str.encode))
def test_the_exact_reader_refuses_what_is_not_json(raw: bytes) -> None:
    assert _accepts(lambda: Document(raw)) == _accepts(lambda: _standard(raw))


def _accepts(read: Callable[[], object]) -> bool:
    try:
        read()
    except (JSONSyntaxError, ValueError):
        return False
    return True


def _standard(raw: bytes) -> object:
    """The standard library's reader without its extensions."""

    def refuse(name: str) -> object:
        raise ValueError(name)

    return json.loads(raw.decode("latin-1"), parse_constant=refuse)


@given(st.text(alphabet="[]#;=\\ \n\rAé\u2003", max_size=30))
def test_unit_files_are_parsed_or_refused(text: str) -> None:
    with suppress(UnitError):
        assert all("=" not in option.name for option in parse_unit(text))


def test_the_empty_config_is_zero_but_for_its_version() -> None:
    assert is_zero(t.Storage())
    assert not is_zero(t.Ignition(version=t.VERSION))
