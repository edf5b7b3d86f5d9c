"""Errors of bringing a 2.x config to spec 3."""

from __future__ import annotations

from mco.ignition.report import IgnitionError


class ConversionError(IgnitionError):
    """A valid 2.x config that says something spec 3 cannot say."""
