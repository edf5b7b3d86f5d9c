"""Whether a changed registries.conf drains the node (spec/node.md 6.5, spec/daemon.md 6.7)."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from mco.api.machineconfiguration import Action, DisruptionPolicies, FilePolicy
from mco.base.errors import InvalidInput
from mco.ignition.dataurl import encode_base64
from mco.plan.node import disruption
from mco.plan.node.diff import compare
from mco.plan.node.disruption import Disruption, PostAction
from mco.plan.node.policies import DEFAULT, REGISTRIES_CONF, merged
from mco.plan.node.target import Target
from tests.unit.plan.node.configs import make


def decide(old: Target, new: Target, known: DisruptionPolicies = DEFAULT) -> Disruption:
    return disruption.in_cluster(old, new, compare(old, new), known)


def registries(**entries: Any) -> str:
    """TOML with `registry` tables from (location, fields) pairs."""
    lines = []
    search = entries.pop("search", None)
    if search is not None:
        lines.append(f"unqualified-search-registries = {search}")
    for location, fields in entries.items():
        lines += ["[[registry]]", f'location = "{location}.io"']
        mirrors = fields.pop("mirrors", {})
        lines += [f"{key.replace('_', '-')} = {value}" for key, value in fields.items()]
        for mirror, pull in mirrors.items():
            lines += ["[[registry.mirror]]", f'location = "{mirror}"']
            lines += [f'pull-from-mirror = "{pull}"'] if pull else []
    return "\n".join(lines) + "\n"


def conf(text: str | None) -> Target:
    return make(files={} if text is None else {REGISTRIES_CONF: text})


DIGEST = "digest-only"


@pytest.mark.parametrize(
    ("old", "new", "drain"),
    [
        (registries(a={}), registries(a={}) + "#x\n", False),
        (registries(), registries(a={"mirrors": {"m": DIGEST}}), False),
        (registries(), registries(a={}), True),
        (registries(), registries(a={"mirror_by_digest_only": "true"}), False),
        (registries(a={}), registries(), True),
        (registries(a={"mirrors": {"m": ""}}), registries(a={}), True),
        (registries(a={}), registries(a={"mirrors": {"m": DIGEST}}), False),
        (
            registries(b={"blocked": "true"}),
            registries(b={"blocked": "true"}, a={"mirrors": {"m": DIGEST}}),
            False,
        ),
        (registries(a={}), registries(a={"mirrors": {"m": ""}}), True),
        (registries(search='["a", "b"]'), registries(search='["b"]'), True),
        (registries(search='["a", "b"]'), registries(search='["b", "a"]'), True),
        (registries(search='["a"]'), registries(search='["a", "b"]'), False),
        (registries(a={"prefix": '"x"'}), registries(a={"prefix": '"y"'}), True),
        (registries(a={"blocked": "true"}), registries(a={}), True),
        (registries(a={}), registries(a={"insecure": "true"}), True),
        (
            registries(a={"mirrors": {"m": ""}}, b={"mirrors": {"n": ""}}),
            registries(a={"mirrors": {"m": DIGEST}}, b={}),
            True,
        ),
        (registries(a={"mirrors": {"m": ""}}), registries(a={"mirrors": {"m": DIGEST}}), False),
        (registries(a={"mirrors": {"m": DIGEST}}), registries(a={"mirrors": {"m": "tag-only"}}), True),
        (
            registries(a={"mirror_by_digest_only": "true", "mirrors": {"m": ""}}),
            registries(a={"mirror_by_digest_only": "true", "mirrors": {"m": "", "n": ""}}),
            False,
        ),
        (None, registries(a={"mirrors": {"m": DIGEST}}), False),
        (registries(a={}), None, True),
    ],
)
def test_registries_drain_only_when_pods_can_be_hurt(old: str | None, new: str | None, drain: bool) -> None:
    found = decide(conf(old), conf(new))
    assert found.actions == (PostAction("Special", "crio"),)
    assert found.drain is drain


@pytest.mark.parametrize(
    "text",
    [
        "not = = toml",
        'registry = "x"',
        "[[registry]]\nlocation = 1",
        "[[registry]]\nblocked = 'yes'",
        'unqualified-search-registries = "a"',
        "[[registry]]\nmirror = ['m']",
    ],
)
def test_registries_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InvalidInput, match="failed decoding TOML content from file /etc/containers/reg") as e:
        decide(conf(registries()), conf(text))
    assert e.value.hint


def test_registries_are_not_read_when_the_node_reboots_or_drains_anyway() -> None:
    new = make(files={REGISTRIES_CONF: "= =", "/etc/other": "x"})
    assert decide(conf(None), new).actions == (PostAction("Reboot"),)
    known = merged(
        DisruptionPolicies(files=(FilePolicy(path="/etc/other", actions=(Action(type="Drain"),)),))
    )
    found = decide(conf(None), new, known)
    assert (found.drain, found.drain_because) == (True, "a policy asks for it")


def test_registries_may_be_compressed() -> None:
    packed = encode_base64(gzip.compress(registries(a={"mirrors": {"m": DIGEST}}).encode()), "")
    entry = {"path": REGISTRIES_CONF, "contents": {"source": packed, "compression": "gzip"}}
    assert not decide(conf(registries()), make(files=[entry])).drain


def test_of_two_mirrors_of_one_location_the_first_counts() -> None:
    mirror = '[[registry.mirror]]\nlocation = "m"\n'
    old = registries(a={"mirrors": {"m": DIGEST}}) + mirror
    assert decide(conf(old), conf(old + 'pull-from-mirror = "tag-only"\n')).drain


def test_the_reason_names_the_registry() -> None:
    assert decide(conf(registries(a={})), conf(None)).drain_because == "registry a.io is removed"
