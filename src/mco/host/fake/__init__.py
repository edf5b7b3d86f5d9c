"""A directory-rooted host: a folder that behaves like a machine, for whoever is not root."""

from mco.host.fake.machine import FakeMachine

__all__ = ["FakeMachine"]
