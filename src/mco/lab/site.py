"""Where machines stand."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mco.lab.events import Listener
from mco.lab.ledger import Ledger
from mco.lab.network import Network
from mco.lab.opt import Program
from mco.lab.shape import Shape


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """What the machines of an instance have in common."""

    instance: str
    tag: str
    network: Network
    base: Path
    image: Path
    program: Program
    shape: Shape
    ledger: Ledger
    listen: Listener
