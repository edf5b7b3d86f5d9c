"""Laws of what is kept and what is collected, for any cluster, broken objects included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mco.plan.pool.prune import Decision, Facts, Limits, age, decide, pool_of
from mco.plan.pool.uses import Users, Why, in_use, users_text, uses
from tests.factories import node, pool
from tests.rendered import name_of, rendered, report

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_AGES = st.floats(-48, 96).map(lambda hours: (NOW - timedelta(hours=hours)).isoformat())
_TIMES = st.one_of(_AGES, st.text(max_size=8), st.just("0001-01-01T00:00:00+14:00"))
_NAMES = st.sampled_from([name_of(n, of) for n in range(6) for of in ("worker", "edge")] + ["", "other"])
_CONFIGS = st.builds(
    rendered,
    st.integers(0, 5),
    st.one_of(st.none(), _TIMES),
    pool=st.sampled_from(["worker", "edge"]),
    pinned=st.booleans(),
)
_POOLS = st.builds(
    lambda spec, status: pool(config=spec, status={"configuration": {"name": status}}), _NAMES, _NAMES
)
_NODES = st.builds(lambda name, a, b: node(name, a or None, b), st.sampled_from("abc"), _NAMES, _NAMES)
_REPORTS = st.builds(
    lambda name, a, b, c: report(name, desired=a, current=b, said=c),
    st.sampled_from("abc"),
    _NAMES,
    _NAMES,
    _NAMES,
)
_USERS = st.builds(
    Users,
    pools=st.lists(_POOLS, max_size=2),
    nodes=st.lists(_NODES, max_size=4),
    reports=st.lists(_REPORTS, max_size=3),
    builds=st.dictionaries(st.text("b", min_size=1, max_size=3), _NAMES, max_size=2),
)
_FACTS = st.builds(
    Facts,
    configs=st.lists(_CONFIGS, max_size=10, unique_by=lambda config: config.name),
    users=_USERS,
    served=st.dictionaries(_NAMES, _TIMES, max_size=4),
)
_LIMITS = st.builds(Limits, served=st.floats(0, 2e5), grace=st.floats(0, 2e5), newest=st.integers(-1, 4))


def unused(decision: Decision) -> set[str]:
    return {config.name for config in decision.unused}


@given(_FACTS, _LIMITS)
def test_nothing_is_both_kept_and_collected(facts: Facts, limits: Limits) -> None:
    found = decide(facts, limits, NOW)
    assert not unused(found) & found.reasons.keys()
    assert all(found.reasons.values())
    assert unused(found) | found.reasons.keys() >= {c.name for c in facts.configs if pool_of(c)}
    assert list(found.unused) == sorted(found.unused, key=age)
    assert found.wake is None or found.wake > 0


@given(_FACTS, _LIMITS)
def test_what_is_named_anywhere_stays(facts: Facts, limits: Limits) -> None:
    named = {p.spec.configuration.name for p in facts.users.pools}
    named |= {p.status.configuration.name for p in facts.users.pools}
    for member in facts.users.nodes:
        named |= set((member.metadata.annotations or {}).values())
    for said in facts.users.reports:
        named |= {said.spec.config_version.desired, said.status.config_version.desired}
        named.add(said.status.config_version.current)
    named |= set(facts.users.builds.values())
    found = decide(facts, limits, NOW)
    assert not named & unused(found)
    assert all(in_use(found.reasons[name]) for name in named & {c.name for c in facts.configs} if name)


@given(_FACTS, _LIMITS, _USERS)
def test_more_users_never_cost_a_config(facts: Facts, limits: Limits, more: Users) -> None:
    both = Users(
        pools=[*facts.users.pools, *more.pools],
        nodes=[*facts.users.nodes, *more.nodes],
        reports=[*facts.users.reports, *more.reports],
        builds={**{f"x{name}": config for name, config in more.builds.items()}, **facts.users.builds},
    )
    with_more = Facts(configs=facts.configs, users=both, served=facts.served)
    assert unused(decide(with_more, limits, NOW)) <= unused(decide(facts, limits, NOW))


@given(_FACTS, _LIMITS, st.floats(0, 1e6))
def test_time_only_ends_what_is_for_a_time(facts: Facts, limits: Limits, seconds: float) -> None:
    now, later = decide(facts, limits, NOW), decide(facts, limits, NOW + timedelta(seconds=seconds))
    for config in unused(later) - unused(now):
        assert set(now.reasons[config]) <= {Why.SERVED, Why.YOUNG}
    if now.wake is None or seconds < now.wake - 1:
        assert unused(later) == unused(now)


@given(_FACTS, _LIMITS)
def test_generous_limits_keep_everything(facts: Facts, limits: Limits) -> None:
    everything = Limits(served=limits.served, grace=limits.grace, newest=100)
    assert decide(facts, everything, NOW).unused == ()


@given(_USERS)
def test_everybody_who_uses_a_config_is_in_its_text_or_counted(users: Users) -> None:
    for reasons in uses(users).values():
        assert in_use(reasons) and users_text(reasons)
