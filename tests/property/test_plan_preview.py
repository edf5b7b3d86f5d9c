"""Laws of a preview, on random configs under random policies."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from mco.api.machineconfiguration import Action, DisruptionPolicies, FilePolicy, SSHKeyPolicy, UnitPolicy
from mco.plan.node import steps
from mco.plan.node.observation import Annotations, Disk, Observation, Verified
from mco.plan.node.policies import DEFAULT, merged, reload, restart
from mco.plan.node.step import next_step
from mco.plan.preview.preview import Preview, preview
from mco.plan.preview.text import Writer
from tests.daemon.builders import config, file, typed, unit

_PATHS = st.sampled_from(
    (
        "/etc/app",
        "/etc/app/a",
        "/etc/app/a/b",
        "/etc/apple",
        "/etc/motd",
        "/etc/containers/policy.json",
        "/etc/containers/registries.conf",
        "/etc/kubernetes/credential-providers/a",
        "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
        "/etc/nmstate/openshift/a",
    )
)
_REGISTRIES = (
    "",
    '[[registry]]\nlocation = "a"\n',
    '[[registry]]\nlocation = "a"\nmirror-by-digest-only = true\n',
)
_TEXTS = st.sampled_from(_REGISTRIES)
_FILES = st.lists(
    st.builds(file, _PATHS, _TEXTS, st.sampled_from((None, 0o600))),
    max_size=5,
    unique_by=lambda entry: str(entry["path"]),
)
_UNITS = st.lists(
    st.builds(
        lambda name, text, enabled: unit(name, text, enabled=enabled),
        st.sampled_from(("a.service", "b.service", "iri-registry.service")),
        st.sampled_from(("[Unit]\n", "[Unit]\nA=b\n")),
        st.sampled_from((None, True, False)),
    ),
    max_size=3,
    unique_by=lambda entry: str(entry["name"]),
)
_SYSTEM = st.sampled_from(
    (
        {},
        {},
        {},
        {},
        {"osImageURL": "x"},
        {"kernelType": "realtime"},
        {"extensions": ["ipsec"]},
        {"fips": True},
    )
)
_CONFIGS = st.builds(
    lambda files, units, keys, arguments, spec: {
        "files": files,
        "units": units,
        "keys": keys,
        "arguments": arguments,
        **spec,
    },
    _FILES,
    _UNITS,
    st.lists(st.sampled_from(("ssh-ed25519 AAAA one", "ssh-ed25519 BBBB two")), max_size=2, unique=True),
    st.sampled_from(([], [], [], ["a"], ["a", "b"], ["b", "a"])),
    _SYSTEM,
)
_ACTION = st.sampled_from(
    (
        reload("a.service"),
        restart("a.service"),
        restart("b.service"),
        Action(type="DaemonReload"),
        Action(type="Drain"),
    )
)
_ACTIONS = st.lists(_ACTION, max_size=3, unique=True).map(tuple) | st.sampled_from(
    ((Action(type="None"),), (Action(type="None"),), (Action(type="Reboot"),))
)
_POLICY_PATHS = st.sampled_from(
    (
        "/etc/app",
        "/etc/app/",
        "/etc/app/a",
        "/etc//app/a",
        "/etc",
        "/",
        "/etc/motd",
        "/etc/containers/policy.json",
    )
)
_POLICIES = st.builds(
    lambda files, units, keys: merged(
        DisruptionPolicies(
            files=tuple(FilePolicy(path=path, actions=actions) for path, actions in files.items()),
            units=tuple(UnitPolicy(name=name, actions=actions) for name, actions in units.items()),
            sshkey=SSHKeyPolicy(actions=keys),
        )
    ),
    st.dictionaries(_POLICY_PATHS, _ACTIONS, max_size=4),
    st.dictionaries(st.sampled_from(("a.service", "b.service")), _ACTIONS, max_size=2),
    _ACTIONS,
)


def decide(old: dict[str, Any], new: dict[str, Any], known: DisruptionPolicies = DEFAULT) -> Preview:
    return preview(typed(config("old", **old)), typed(config("new", **new)), known)


def changed(found: Preview) -> bool:
    """Whether more than the order of lists differs."""
    kinds = [file.change for file in found.files] + [unit.change for unit in found.units]
    return bool(kinds) and "moved" not in kinds


def verdict(found: Preview) -> tuple[Any, ...]:
    return (found.reconcilable, found.files, found.units, found.actions, found.drain, found.because)


@given(_CONFIGS, _POLICIES)
def test_nothing_has_to_be_done_to_stay(one: dict[str, Any], known: DisruptionPolicies) -> None:
    found = decide(one, one, known)
    assert (found.reconcilable, found.drain, found.reboot) == (True, False, False)
    assert [action.type for action in found.actions] == ["None"]
    assert (found.files, found.units, found.passwd, found.kernel_arguments) == ((), (), None, None)
    assert found.exit_code == (2 if found.refused else 0)


@given(_CONFIGS, _CONFIGS, _POLICIES)
def test_what_every_answer_keeps(old: dict[str, Any], new: dict[str, Any], known: DisruptionPolicies) -> None:
    """One reason for each action, no action twice, no reboot without a drain and beside nothing else."""
    found = decide(old, new, known)
    assert len(found.because) == len(found.actions) == len(set(found.actions))
    kinds = [action.type for action in found.actions]
    assert found.reboot == ("Reboot" in kinds)
    if found.reboot:
        assert (found.drain, len(kinds)) == (True, 1)
    if "None" in kinds:
        assert (found.drain, kinds) == (False, ["None"])
    if not found.reconcilable:
        assert (kinds, found.drain, found.reboot, found.exit_code) == ([], False, False, 2)
        assert found.reason


@given(_CONFIGS, _CONFIGS, _POLICIES, st.randoms(use_true_random=False))
def test_the_order_of_files_and_units_decides_nothing(
    old: dict[str, Any], new: dict[str, Any], known: DisruptionPolicies, random: Any
) -> None:
    first = decide(old, new, known)
    shuffled = [
        side | {key: random.sample(side[key], len(side[key])) for key in ("files", "units")}
        for side in (old, new)
    ]
    second = decide(shuffled[0], shuffled[1], known)
    assume(changed(first) and changed(second))
    assert verdict(first) == verdict(second)


@given(_CONFIGS, _CONFIGS, _POLICIES)
def test_the_specification_step_by_step(
    old: dict[str, Any], new: dict[str, Any], known: DisruptionPolicies
) -> None:
    """The list of spec/node.md 6.4, which repeats actions, has the same ones and the same need of a drain."""
    found = decide(old, new, known)
    assume(found.reconcilable)
    wanted, drain = specified(old, new, known)
    assert {action.type for action in found.actions} == {action.type for action in wanted}
    services = {(action.reload or action.restart) for action in wanted} - {None}
    assert {action.service for action in found.actions} - {""} == {s.service_name for s in services if s}
    assert found.drain is drain


def specified(
    old: dict[str, Any], new: dict[str, Any], known: DisruptionPolicies
) -> tuple[list[Action], bool]:
    reboot = [Action(type="Reboot")]
    for key in ("osImageURL", "kernelType", "extensions", "arguments"):
        if old.get(key) != new.get(key):
            return reboot, True
    before, after = _keyed(old, new, "files", "path")
    collected: list[Action] = []
    for path in before.keys() | after.keys():
        if before.get(path) != after.get(path):
            hits = [policy for policy in known.files if _hits(policy, path)]
            if not hits:
                return reboot, True
            collected += max(hits, key=lambda policy: len(policy.path)).actions
    was, will = _keyed(old, new, "units", "name")
    for name in was.keys() | will.keys():
        if was.get(name) != will.get(name):
            entries = [policy for policy in known.units if policy.name == name]
            if not entries:
                return reboot, True
            collected += entries[0].actions
    if old["keys"] != new["keys"]:
        collected += known.sshkey.actions
    kinds = {action.type for action in collected}
    if "Reboot" in kinds:
        return reboot, True
    if kinds == {"None"} or all(old[key] == new[key] for key in ("files", "units", "keys")):
        return [Action(type="None")], False
    real = [action for action in collected if action.type != "None"]
    return real, "Drain" in kinds or ("Special" in kinds and not _safe(before, after))


def _keyed(old: dict[str, Any], new: dict[str, Any], part: str, key: str) -> tuple[dict[str, Any], ...]:
    return tuple({entry[key]: entry for entry in side[part]} for side in (old, new))


def _hits(policy: FilePolicy, path: str) -> bool:
    folder = policy.path.replace("//", "/").rstrip("/") + "/"
    return path == policy.path or (folder != "/" and path.startswith(folder))


def _safe(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Of the texts that are drawn here: nothing is lost, and what is new is for digests only."""
    empty, _, digests = (file("/etc/containers/registries.conf", text)["contents"] for text in _REGISTRIES)
    none = {"contents": empty}
    old, new = (side.get("/etc/containers/registries.conf", none)["contents"] for side in (before, after))
    return bool(old == new or (old == empty and new == digests) or (old != empty and new != empty))


_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20)
_LINES = st.lists(_WORDS, max_size=4).map(lambda lines: "".join(f"{line}\n" for line in lines))
_SECRET = "Zq7hunterTwo9X"
_PLANTED = st.sampled_from(
    (
        f"password = {_SECRET}",
        f'"token": "{_SECRET}"',
        f"-----BEGIN PRIVATE KEY-----\n{_SECRET}",
        f"http://me:{_SECRET}@host/",
        f"Authorization: Bearer {_SECRET}",
        f"$6$salt${_SECRET}",
        f"Environment=API_KEY={_SECRET}",
        f'{{"auths": {{"a": {{"auth": "{_SECRET}"}}}}}}',
    )
)


@given(
    _PLANTED, _LINES, _LINES, _LINES, st.sampled_from(("file", "secret path", "unit", "dropin", "argument"))
)
def test_a_planted_secret_is_never_shown(
    planted: str, before: str, after: str, other: str, where: str
) -> None:
    """Not as a change, not as the context of one, and not when it is only on one side."""
    text = f"{before}{planted}\n{after}"
    sides: tuple[dict[str, Any], dict[str, Any]]
    match where:
        case "file":
            sides = {"files": [file("/etc/a", text)]}, {"files": [file("/etc/a", text + other)]}
        case "secret path":
            sides = {"files": [file("/etc/a.key", _SECRET)]}, {"files": [file("/etc/a.key", _SECRET + other)]}
        case "unit":
            contents = f"[Service]\nEnvironment={planted.partition(chr(10))[0]}\n"
            sides = (
                {"units": [unit("a.service", contents)]},
                {"units": [unit("a.service", contents + "A=b\n")]},
            )
        case "dropin":
            contents = f"[Service]\nEnvironment={planted.partition(chr(10))[0]}\n"
            sides = {}, {"units": [unit("a.service", dropins={"1.conf": contents})]}
        case _:
            sides = {"arguments": [planted]}, {"arguments": [planted, "b"]}
    for old, new in (sides, sides[::-1], ({}, sides[1])):
        found = decide(old, new)
        shown = Writer(lambda word, _: word, None).text(found) + msgspec.json.encode(found).decode()
        assert _SECRET not in shown


@given(_CONFIGS, _CONFIGS, _POLICIES)
def test_the_daemon_would_decide_the_same(
    old: dict[str, Any], new: dict[str, Any], known: DisruptionPolicies
) -> None:
    """There is one way to decide: what a preview says is what the node's next step does."""
    sides = typed(config("old", **old)), typed(config("new", **new))
    found = preview(*sides, known)
    seen = Observation(
        node=Annotations(current=sides[0].name, desired=sides[1].name, state="Done"),
        disk=Disk(boot_id="1", recorded=sides[0].name),
        configs={side.name: side for side in sides},
        policies=known,
        verified=Verified(sides[0].name),
        started=True,
    )
    step = next_step(seen)
    if not found.reconcilable:
        assert isinstance(step, steps.Refuse)
        assert step.text == found.reason
        return
    if found.refused:
        assert isinstance(step, steps.Degrade)
        return
    assert isinstance(step, steps.AskForDrain if found.drain else steps.Begin)
    planned = step.update.disruption
    assert [action.type for action in planned.actions] == [action.type for action in found.actions]
    assert planned.because == found.because
