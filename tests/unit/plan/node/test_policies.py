"""How a user's policies come over the built-in ones (spec/node.md 6.3)."""

from __future__ import annotations

from mco.api.machineconfiguration import DisruptionPolicies, FilePolicy
from mco.plan.node.policies import DEFAULT, REGISTRIES_CONF, merged, restart


def test_a_user_entry_takes_the_place_of_a_default() -> None:
    user = DisruptionPolicies(files=(FilePolicy(path=REGISTRIES_CONF, actions=(restart("a.service"),)),))
    found = merged(user)
    assert [f.path for f in found.files] == [f.path for f in DEFAULT.files]
    assert found.files[3].actions == (restart("a.service"),)


def test_others_follow_in_the_users_order() -> None:
    user = DisruptionPolicies(files=tuple(FilePolicy(path=p) for p in ("/z", "/a")))
    assert [f.path for f in merged(user).files[-2:]] == ["/z", "/a"]


def test_no_key_actions_leave_the_default() -> None:
    assert merged(DisruptionPolicies()).sshkey == DEFAULT.sshkey
