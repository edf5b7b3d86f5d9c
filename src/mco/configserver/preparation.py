"""From objects to bytes that are ready to send: tens of milliseconds per megabyte, so run it in a thread."""

from __future__ import annotations

from itertools import count

import msgspec

from mco.base.errors import MCOError
from mco.configserver.kubeconfig import Endpoint, bootstrap_kubeconfig
from mco.configserver.negotiate import NEWEST
from mco.configserver.prepared import Prepared, escaped
from mco.configserver.served import Source, served_config
from mco.ignition.encode import to_json
from mco.ignition.translate import down
from mco.ignition.types import Config


def prepare(source: Source, endpoint: Endpoint, version: str) -> Prepared:
    """The answer in `version`, with a hole where each machine's token goes.

    Raises what `served_config` raises, and IgnitionError for what `version` cannot express."""
    known = msgspec.json.encode(source.machine_config)
    hole = next(
        hole for number in count() if (hole := f"join-token-{number}-goes-here").encode() not in known
    )
    config = served_config(source, version, bootstrap_kubeconfig(endpoint, hole))
    before, found, after = _encoded(config, version).partition(escaped(hole))
    if not found or escaped(hole) in after:
        raise MCOError(
            "the place of the token in the kubeconfig is not unique",
            subject=f"MachineConfig/{source.machine_config.name}",
        )
    return Prepared(source.machine_config.name, version, before, after)


def prepare_fixed(source: Source, kubeconfig: bytes, version: str) -> Prepared:
    """As `prepare`, with one kubeconfig for every machine and so without a hole (bootstrap server)."""
    body = _encoded(served_config(source, version, kubeconfig), version)
    return Prepared(source.machine_config.name, version, body, b"")


def _encoded(config: Config, version: str) -> bytes:
    return to_json(config) if version == NEWEST else down(config, version)
