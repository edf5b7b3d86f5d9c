"""Which rendered configs stay, and why; all the others may go.

The rule is about what is lost: a config that somebody needs, or may come to need, stays. What cannot be read
counts as a reason to keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.plan.pool.uses import Reasons, Users, Why, uses
from mco.render.naming import pool_in

_OLDEST = datetime.min.replace(tzinfo=UTC)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`served` and `grace` are seconds: how long a config stays after it was served last, and after it was
    created. `newest`: how many of each pool stay, to go back to."""

    served: float = 24 * 3600.0
    grace: float = 3600.0
    newest: int = 5


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to decide from. `served`: when each config was served last, as RFC 3339."""

    configs: Iterable[MachineConfig]
    users: Users
    served: Mapping[str, str] = msgspec.field(default_factory=dict)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """`reasons`: why configs stay, by their names; of those that were rendered and have none, `unused` has
    the objects, the oldest first. `wake`: in how many seconds the first reason ends by itself, if one does.
    """

    reasons: Mapping[str, Reasons]
    unused: tuple[MachineConfig, ...]
    wake: float | None


def pool_of(config: MachineConfig) -> str:
    """The pool that the config was rendered for; nothing for one that was not rendered.

    Only what bears all marks of a rendered config is one: whatever else has such a name is a person's."""
    named = pool_in(config.name)
    metadata = config.metadata
    if not named or metadata.labels or metadata.annotation(names.GENERATED_BY_CONTROLLER_VERSION) is None:
        return ""
    owner = metadata.controller()
    if owner is None:
        return named
    return owner.name if owner.kind == "MachineConfigPool" else ""


def decide(facts: Facts, limits: Limits, now: datetime) -> Decision:
    """Total: never raises, whatever the objects say."""
    reasons: dict[str, dict[Why, tuple[str, ...]]] = dict(uses(facts.users))
    configs = {config.name: config for config in facts.configs}
    rendered = {name: pool for name, config in configs.items() if (pool := pool_of(config))}
    ends = [
        *_served(reasons, facts.served, limits, now),
        *_young(reasons, (configs[name] for name in rendered), limits, now),
    ]
    for name in _newest(configs, rendered, limits.newest):
        reasons.setdefault(name, {})[Why.NEWEST] = ()
    for name in rendered:
        if configs[name].metadata.annotation(names.KEEP) is not None:
            reasons.setdefault(name, {})[Why.PINNED] = ()
    unused = sorted((configs[name] for name in rendered if name not in reasons), key=age)
    return Decision(reasons=reasons, unused=tuple(unused), wake=min(ends, default=None))


def expired(served: Mapping[str, str], limits: Limits, now: datetime) -> list[str]:
    """The marks of `served` that keep nothing any more."""
    return [name for name, text in served.items() if _left(text, limits.served, now) <= 0]


def _served(
    reasons: dict[str, dict[Why, tuple[str, ...]]], served: Mapping[str, str], limits: Limits, now: datetime
) -> list[float]:
    left = {name: _left(text, limits.served, now) for name, text in served.items()}
    for name in (name for name, seconds in left.items() if seconds > 0):
        reasons.setdefault(name, {})[Why.SERVED] = ()
    return [seconds for seconds in left.values() if seconds > 0]


def _young(
    reasons: dict[str, dict[Why, tuple[str, ...]]],
    configs: Iterable[MachineConfig],
    limits: Limits,
    now: datetime,
) -> list[float]:
    left = {c.name: _left(c.metadata.creation_timestamp or "", limits.grace, now) for c in configs}
    for name in (name for name, seconds in left.items() if seconds > 0):
        reasons.setdefault(name, {})[Why.YOUNG] = ()
    return [seconds for seconds in left.values() if seconds > 0]


def _newest(configs: Mapping[str, MachineConfig], rendered: Mapping[str, str], count: int) -> list[str]:
    of_pool: dict[str, list[MachineConfig]] = {}
    for name, pool in rendered.items():
        of_pool.setdefault(pool, []).append(configs[name])
    if count <= 0:
        return []
    return [c.name for found in of_pool.values() for c in sorted(found, key=age)[-count:]]


def age(config: MachineConfig) -> tuple[datetime, str]:
    """Sorts configs, the oldest first."""
    return _moment(config.metadata.creation_timestamp or "") or _OLDEST, config.name


def _left(since: str, limit: float, now: datetime) -> float:
    """Seconds until `since` is `limit` seconds ago. A time that cannot be read, or that has yet to come, is
    as good as now."""
    moment = _moment(since)
    return limit if moment is None else limit - max(0.0, (now - moment).total_seconds())


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC)
