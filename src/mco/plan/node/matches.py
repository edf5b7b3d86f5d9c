"""Which policies a change meets, and the actions that they ask for together (spec/node.md 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from mco.api.machineconfiguration import Action, DisruptionPolicies, FilePolicy, UnitPolicy
from mco.plan.node import policies as policy
from mco.plan.node.diff import Changes

CRIO = "crio"
"""The spelling of the service that Special actions and the first-boot table use (spec/daemon.md 6.21)."""

_SHOWN = 3

T = TypeVar("T")
P = TypeVar("P", FilePolicy, UnitPolicy)


class PostAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """`type` as in a policy; `service` only for Reload, Restart and Special."""

    type: str
    service: str = ""

    def describe(self) -> str:
        match self.type:
            case policy.RELOAD | policy.SPECIAL:
                return f"reload {self.service}"
            case policy.RESTART:
                return f"restart {self.service}"
            case policy.DAEMON_RELOAD:
                return "reload the service manager"
            case policy.NONE:
                return "nothing more"
            case _:
                return self.type.lower()


class Match(NamedTuple):
    """What changed, which policy that is for, and what the policy asks for."""

    because: str
    actions: tuple[PostAction, ...]


class Matches(NamedTuple):
    """`unmatched` are the changed files and units without a policy."""

    found: tuple[Match, ...]
    unmatched: str


def of(changes: Changes, policies: DisruptionPolicies) -> Matches:
    """The order is that of the policies: files, units, SSH keys. So it is not the order of a config's files
    that decides in which order services are touched."""
    by_file, files = _grouped(changes.changed_files, lambda path: policy.for_file(policies, path))
    by_unit, units = _grouped(changes.changed_units, lambda name: policy.for_unit(policies, name))
    unmatched = [text for text in (_listed("file", files), _listed("unit", units)) if text]
    return Matches(
        (
            *_matched("file", by_file, policies.files, lambda entry: entry.path),
            *_matched("unit", by_unit, policies.units, lambda entry: entry.name),
            *_keys(changes, policies),
        ),
        " and ".join(unmatched),
    )


def combined(lists: Iterable[tuple[PostAction, ...]]) -> tuple[PostAction, ...]:
    """Every action once, behind all that stand before it in any of the lists; what no list orders comes as it
    is written first. So a service that one policy restarts is not restarted before another policy's reload of
    its definition. Where lists contradict each other the one that is written first wins."""
    waits: dict[PostAction, set[PostAction]] = {}
    for listed in dict.fromkeys(lists):
        before: list[PostAction] = []
        for action in dict.fromkeys(listed):
            waits.setdefault(action, set()).update(before)
            before.append(action)
    done = []
    while waits:
        free = next((action for action, others in waits.items() if not others), next(iter(waits)))
        done.append(free)
        del waits[free]
        for others in waits.values():
            others.discard(free)
    return tuple(done)


def _grouped(keys: Iterable[str], find: Callable[[str], P | None]) -> tuple[dict[P, list[str]], list[str]]:
    """The keys by policy, and those without one."""
    grouped: dict[P, list[str]] = {}
    without = []
    for key in sorted(keys):
        found = find(key)
        if found is None:
            without.append(key)
        else:
            grouped.setdefault(found, []).append(key)
    return grouped, without


def _matched(
    kind: str, grouped: dict[P, list[str]], entries: Sequence[P], name: Callable[[P], str]
) -> Iterator[Match]:
    built_in: Sequence[FilePolicy | UnitPolicy] = (*policy.DEFAULT.files, *policy.DEFAULT.units)
    for entry in dict.fromkeys(entries):
        if keys := grouped.get(entry):
            whose = "built-in policy" if entry in built_in else "policy"
            because = f"{_listed(kind, keys)} matched the {whose} for {name(entry)}"
            yield Match(because, tuple(map(_post_action, entry.actions)))


def _keys(changes: Changes, policies: DisruptionPolicies) -> Iterator[Match]:
    if changes.passwd:
        whose = "built-in policy" if policies.sshkey == policy.DEFAULT.sshkey else "policy"
        because = f"SSH keys or passwords matched the {whose} for SSH keys"
        yield Match(because, tuple(map(_post_action, policies.sshkey.actions)))


def _listed(kind: str, keys: Sequence[str]) -> str:
    if not keys:
        return ""
    plural = kind if len(keys) == 1 else f"{kind}s"
    shown = ", ".join(keys[:_SHOWN])
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return f"{plural} {shown}{more}"


def _post_action(action: Action) -> PostAction:
    match action.type:
        case policy.RELOAD:
            return PostAction(action.type, action.reload.service_name if action.reload else "")
        case policy.RESTART:
            return PostAction(action.type, action.restart.service_name if action.restart else "")
        case policy.SPECIAL:
            return PostAction(action.type, CRIO)
        case _:
            return PostAction(action.type)
