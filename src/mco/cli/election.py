"""How a command acts: only while it holds its component's Lease, unless it is told otherwise."""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mco.cli.options import F, Seconds

if TYPE_CHECKING:
    from mco.kube.client import Client
    from mco.kube.leader.elector import Work
    from mco.runtime.clock import Clock
    from mco.runtime.supervise import Part


_DURATIONS = {
    "lease": ("lease-duration", "how long after its last renewal a Lease may be taken"),
    "renew": ("renew-deadline", "how long a holder that cannot renew it goes on"),
    "retry": ("retry-period", "how often it is renewed, and asked for"),
}
"""By the names of `leader.timings.Timings`: kubernetes' name for the option, and what it is."""


class Election(msgspec.Struct, frozen=True):
    """`durations` are seconds, in place of those that follow from the cluster's topology."""

    wanted: bool
    durations: dict[str, float]

    def part(self, client: Client, lease: str, work: Work, clock: Clock) -> Part:
        """What the process supervises: `work`, under `lease` or at once."""
        from mco.kube.leader.run import lead

        if not self.wanted:
            return functools.partial(work, client)
        return functools.partial(lead, client, lease, work, clock, self.durations)


def election_options(function: F) -> F:
    """Gives the command an `election`."""

    @functools.wraps(function)
    def command(leader_elect: bool, **arguments: Any) -> Any:
        signal.signal(signal.SIGTERM, _leave)
        given = {name: arguments.pop(f"leader_elect_{name}") for name in _DURATIONS}
        durations = {name: seconds for name, seconds in given.items() if seconds is not None}
        return function(election=Election(leader_elect, durations), **arguments)

    decorated: Callable[..., Any] = command
    for name, (option, text) in reversed(_DURATIONS.items()):
        decorated = click.option(
            f"--leader-elect-{option}",
            f"leader_elect_{name}",
            type=Seconds(),
            help=f"Seconds: {text}; the cluster's topology decides if left out.",
        )(decorated)
    return click.option(  # type: ignore[return-value]
        "--leader-elect/--no-leader-elect",
        default=True,
        show_default=True,
        help="Act only while holding the component's Lease; without, whoever starts it must see to it that"
        " there is one.",
    )(decorated)


def _leave(*_: object) -> None:
    """Until there is something to stop. The first process of a container is not even reached by a signal that
    it has no handler for."""
    sys.exit(0)
