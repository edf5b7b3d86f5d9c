"""Rules for systemd units and drop-ins."""

from __future__ import annotations

from mco.ignition import types as t
from mco.ignition import units
from mco.ignition.report import Findings

EXTENSIONS = frozenset(
    (
        ".automount",
        ".device",
        ".mount",
        ".path",
        ".scope",
        ".service",
        ".slice",
        ".snapshot",
        ".socket",
        ".swap",
        ".target",
        ".timer",
    )
)


def check_unit(unit: t.Unit, path: str, out: Findings) -> None:
    if extension(unit.name) not in EXTENSIONS:
        out.error(f"{path}.name", "invalid systemd unit extension")
    options = _options(unit.contents, f"{path}.contents", out)
    if (
        unit.enabled
        and unit.contents
        and options is not None
        and all(o.section != "Install" for o in options)
    ):
        message = f'unit "{unit.name}" is enabled, but has no install section so enable does nothing'
        out.warn(f"{path}.contents", message)


def check_dropin(dropin: t.Dropin, path: str, out: Findings) -> None:
    _options(dropin.contents, f"{path}.contents", out)
    if extension(dropin.name) != ".conf":
        out.error(f"{path}.name", "invalid systemd drop-in extension")


def _options(contents: str | None, path: str, out: Findings) -> tuple[units.Option, ...] | None:
    """The options of a unit file; None where it does not parse."""
    try:
        return units.parse(contents or "")
    except units.UnitError as error:
        out.error(path, f"invalid unit content: {error}")
        return None


def extension(name: str) -> str:
    """From the last dot on, in the last component of a path."""
    last = name.rpartition("/")[2]
    dot = last.rfind(".")
    return last[dot:] if dot >= 0 else ""
