"""A MachineConfig with its Ignition document parsed: one side of a change."""

from __future__ import annotations

import msgspec

from mco.api.machineconfig import MachineConfig, MachineConfigSpec
from mco.base.errors import InvalidInput, RenderError
from mco.base.text import quote
from mco.ignition import parse, types
from mco.ignition.validate import validate
from mco.render.checks import check_modes

EMPTY_NAME = "mco-empty-mc"
"""The name of the config of a node that has none yet (spec/daemon.md 1.7)."""


class Target(msgspec.Struct, frozen=True):
    """`config` is always of the newest Ignition version."""

    name: str
    spec: MachineConfigSpec
    config: types.Config


EMPTY = Target(EMPTY_NAME, MachineConfigSpec(), types.EMPTY)


def target(machine_config: MachineConfig) -> Target:
    """Raises IgnitionError when the document cannot be parsed."""
    raw = bytes(machine_config.spec.config)
    absent = not raw or raw == b"null"
    config = types.EMPTY if absent else parse.parse_and_convert(raw)
    return Target(machine_config.name, machine_config.spec, config)


def pair(old: MachineConfig, new: MachineConfig) -> tuple[Target, Target]:
    """Both sides of a change. Raises InvalidInput with the texts of spec/render.md 7.2, rows 1 and 2."""
    former = _named(old, "old")
    latter = _named(new, "new")
    if latter.config != types.EMPTY:
        _validate(latter, new)
    return former, latter


def _validate(side: Target, machine_config: MachineConfig) -> None:
    start = f"validating new Ignition config from machineconfig {quote(side.name)} failed: "
    if (report := validate(side.config)).fatal:
        raise _invalid(f"{start}invalid ignition V3 config found: {report}", machine_config)
    try:
        check_modes(side.config)
    except RenderError as error:
        raise _invalid(start + error.message, machine_config, error.path, error.hint) from error


def _named(machine_config: MachineConfig, side: str) -> Target:
    try:
        return target(machine_config)
    except InvalidInput as error:
        text = (
            f"parsing {side} Ignition config from machineconfig {quote(machine_config.name)} failed: {error}"
        )
        raise _invalid(text, machine_config) from error


def _invalid(
    text: str, machine_config: MachineConfig, path: str = "$.spec.config", hint: str = ""
) -> InvalidInput:
    return InvalidInput(text, subject=f"MachineConfig/{machine_config.name}", path=path, hint=hint)
