"""What the operator says of the installation: the conditions and versions of its ClusterOperator
(spec/operator.md 1.3; sequences in 8.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.plan.installation import outcome
from mco.plan.installation.outcome import Outcome

AVAILABLE = "Available"
PROGRESSING = "Progressing"
DEGRADED = "Degraded"
UPGRADEABLE = "Upgradeable"
EVALUATION = "EvaluationConditionsDetected"
AS_EXPECTED = "AsExpected"
OPERATOR = "operator"
OPERATOR_IMAGE = "operator-image"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What was said last. `versions` by what they are the version of."""

    conditions: tuple[Condition, ...] = ()
    versions: Mapping[str, str] = {}


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass found. `versions` are this operator's own; `bring_up`: no pass of the installation was
    ever complete; `blocked`: why the cluster must not be upgraded, None when it may; `findings`: settings
    that will not be supported for ever."""

    outcomes: tuple[Outcome, ...]
    versions: Mapping[str, str]
    bring_up: bool = False
    blocked: Condition | None = None
    findings: tuple[str, ...] = ()


def initial(versions: Mapping[str, str], now: str) -> Standing:
    """Of an object that nobody made before us; `now` is an RFC 3339 time."""
    said = (
        _condition(AVAILABLE, cond.FALSE),
        _condition(PROGRESSING, cond.FALSE),
        _condition(DEGRADED, cond.FALSE),
        _condition(UPGRADEABLE, cond.UNKNOWN, "NoData"),
        _condition(EVALUATION, cond.FALSE, AS_EXPECTED),
    )
    return Standing(conditions=_set((), said, now), versions=dict(versions))


def begin(old: Standing, versions: Mapping[str, str], bring_up: bool, now: str) -> Standing:
    """Said before anything is done. As long as passes fail, the text of the failure stays: it would be
    written back at the end of each."""
    progressing = _progressing(old.versions == versions, bring_up, versions.get(OPERATOR, ""))
    before = cond.find(old.conditions, PROGRESSING)
    if cond.is_true(old.conditions, DEGRADED) and before and before.status == progressing.status:
        return old
    return msgspec.structs.replace(old, conditions=_set(old.conditions, (progressing,), now))


def decide(old: Standing, found: Pass, now: str) -> Standing:
    """What a pass leaves said. A closed gate is no failure: what was said of failures before stays, unless
    the function that failed is done now; and the versions stay until everything is done."""
    equal, version = old.versions == found.versions, found.versions.get(OPERATOR, "")
    degraded = _degraded(old, found, equal, version)
    progressing = _progressing(equal, found.bring_up, version)
    if degraded.status == cond.TRUE:
        text = f"Unable to apply {version}" if progressing.status == cond.TRUE else ""
        message = text or f"Error while reconciling {version}"
        progressing = msgspec.structs.replace(progressing, message=message)
    said = (
        progressing,
        degraded,
        _condition(AVAILABLE, cond.TRUE, AS_EXPECTED, f"Cluster has deployed {listed(old.versions)}"),
        found.blocked or _condition(UPGRADEABLE, cond.TRUE, AS_EXPECTED),
        _evaluation(found.findings),
    )
    keep = not outcome.complete(found.outcomes)
    return Standing(
        conditions=_set(old.conditions, said, now),
        versions=old.versions if keep else dict(found.versions),
    )


def listed(versions: Mapping[str, str]) -> str:
    """As the original prints its list of versions."""
    return "[" + " ".join(f"{{{name} {versions[name]}}}" for name in sorted(versions)) + "]"


def announcements(old: Standing, new: Standing) -> list[tuple[str, str, str]]:
    """Type, reason and message of the events that a change of degradation is worth."""
    before, after = cond.find(old.conditions, DEGRADED), cond.find(new.conditions, DEGRADED)
    if after is None or after.status != cond.TRUE:
        return []
    same = before and (before.reason, before.message) == (after.reason, after.message)
    return [] if same else [("Warning", f"OperatorDegraded: {after.reason}", after.message)]


def version_changes(
    old: Standing, new: Standing, versions: Mapping[str, str], bring_up: bool, *, first: bool
) -> list[tuple[str, str, str]]:
    """The same, of versions; `first`: nothing was said in this process's life yet."""
    start, texts = "clusteroperator/machine-config", []
    if first and bring_up:
        texts.append(f"{start} is bootstrapping to {listed(versions)}")
    elif first and old.versions != versions:
        texts.append(f"{start} started a version change from {listed(old.versions)} to {listed(versions)}")
    if new.versions != old.versions:
        texts.append(f"{start} version changed from {listed(old.versions)} to {listed(new.versions)}")
    return [("Normal", "OperatorVersionChanged", text) for text in texts]


def _progressing(equal: bool, bring_up: bool, version: str) -> Condition:
    if not equal:
        return _condition(PROGRESSING, cond.TRUE, message=f"Working towards {version}")
    if bring_up:
        return _condition(PROGRESSING, cond.TRUE, message=f"Cluster is bootstrapping {version}")
    return _condition(PROGRESSING, cond.FALSE, message=f"Cluster version is {version}")


def _degraded(old: Standing, found: Pass, equal: bool, version: str) -> Condition:
    failed = outcome.failed(found.outcomes)
    if failed:
        text = f"Failed to resync {version} because" if equal else f"Unable to apply {version}"
        return _condition(DEGRADED, cond.TRUE, f"{failed.step}Failed", f"{text}: {failed.error}")
    before = cond.find(old.conditions, DEGRADED)
    waits = {f"{each.step}Failed" for each in found.outcomes if not each.done}
    if before and before.status == cond.TRUE and before.reason in waits:
        return before
    return _condition(DEGRADED, cond.FALSE)


def _evaluation(findings: Sequence[str]) -> Condition:
    """What was found stands in the reason: that is what telemetry counts."""
    if not findings:
        return _condition(EVALUATION, cond.FALSE, AS_EXPECTED)
    return _condition(EVALUATION, cond.TRUE, "::".join(sorted(findings)))


def _condition(type_: str, status: str, reason: str = "", message: str = "") -> Condition:
    return Condition(type=type_, status=status, reason=reason, message=message)


def _set(old: Sequence[Condition], new: Sequence[Condition], now: str) -> tuple[Condition, ...]:
    conditions = tuple(old)
    for condition in new:
        conditions = cond.set_condition(conditions, condition, now)
    return conditions
