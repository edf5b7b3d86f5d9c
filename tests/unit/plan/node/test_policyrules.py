"""MachineConfigurations from files: what the API server would refuse (spec/node.md 6.1, 12.11), and which
policies an object stands for."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from mco.api.machineconfiguration import DisruptionPolicies
from mco.base.errors import InvalidInput
from mco.plan.node import policies, policyrules


def configuration(
    user: Any = None, status: Any = None, *, generation: int = 1, observed: int = 1, **spec: Any
) -> dict[str, Any]:
    if user is not None:
        spec["nodeDisruptionPolicy"] = user
    body = {"metadata": {"name": "cluster", "generation": generation}, "spec": spec}
    if status is not None:
        found = {"nodeDisruptionPolicyStatus": {"clusterPolicies": status}}
        body["status"] = {"observedGeneration": observed, **found}
    return body


def acting(*actions: Any) -> dict[str, Any]:
    return {"files": [{"path": "/etc/a", "actions": list(actions)}]}


RESTART = {"type": "Restart", "restart": {"serviceName": "a.service"}}
RELOAD = {"type": "Reload", "reload": {"serviceName": "a.service"}}
FILES, ACTION = "$.spec.nodeDisruptionPolicy.files", "$.spec.nodeDisruptionPolicy.files.0.actions.0"


@pytest.mark.parametrize(
    "user",
    [
        {},
        {"files": None, "units": None, "sshkey": {"actions": None}},
        {"sshkey": {}},
        {"files": [{"path": "/etc/a", "actions": None}]},
        acting(),
        acting(RESTART, RELOAD, {"type": "DaemonReload"}, {"type": "Drain"}),
        acting({"type": "Reboot"}),
        acting({"type": "None"}),
        {"units": [{"name": "a@b.c.service", "actions": []}], "sshkey": {"actions": [RESTART]}}
        | {"units": [{"name": "a-b_c:d\\x2d.timer", "actions": []}]},
    ],
)
def test_sound(user: dict[str, Any]) -> None:
    value = configuration(user)
    assert policyrules.problems(value) == ()
    assert isinstance(policyrules.configuration(value).spec.node_disruption_policy, DisruptionPolicies)


@pytest.mark.parametrize(
    ("user", "path", "message"),
    [
        ([], "$.spec.nodeDisruptionPolicy", "expected an object"),
        ({"file": []}, "$.spec.nodeDisruptionPolicy.file", 'unknown field "file"'),
        ({"files": {}}, FILES, "expected a list"),
        ({"files": 5}, FILES, "expected a list"),
        ({"files": ["/etc/a"]}, f"{FILES}.0", "expected an object"),
        ({"files": [{"actions": []}]}, f"{FILES}.0.path", "path is required"),
        ({"files": [{"path": "/a"}]}, f"{FILES}.0.actions", "actions is required"),
        ({"files": [{"path": "/a", "action": []}]}, f"{FILES}.0.action", 'unknown field "action"'),
        ({"files": [{"path": "/a", "actions": {}}]}, f"{FILES}.0.actions", "expected a list"),
        (
            {"files": [{"path": "/a", "actions": []}] * 2},
            f"{FILES}.1.path",
            f"/a has a policy already, at {FILES}.0",
        ),
        (
            {"files": [{"path": f"/{n}", "actions": []} for n in range(51)]},
            FILES,
            "51 entries are more than 50",
        ),
        (acting(*[RESTART] * 11), f"{FILES}.0.actions", "11 actions are more than 10"),
        (
            acting({"type": "Reboot"}, RESTART),
            f"{FILES}.0.actions",
            "Reboot action can only be specified standalo",
        ),
        (
            acting(RESTART, {"type": "None"}),
            f"{FILES}.0.actions",
            "None action can only be specified standalone",
        ),
        (acting({}), f"{ACTION}.type", "type is required"),
        (acting({"type": "restart"}), f"{ACTION}.type", "unknown type restart"),
        (acting({"type": "Special"}), f"{ACTION}.type", "unknown type Special"),
        (acting({"type": ["Drain"]}), f"{ACTION}.type", "unknown type"),
        (
            acting({"type": "Reload"}),
            f"{ACTION}.reload.serviceName",
            "type Reload needs the name of a service",
        ),
        (acting(RESTART | {"reload": {}}), f"{ACTION}.reload", "reload goes only with type Reload"),
        (
            acting({"type": "Drain", "restart": {}}),
            f"{ACTION}.restart",
            "restart goes only with type Restart",
        ),
        (acting(RESTART | {"service": "a"}), f"{ACTION}.service", 'unknown field "service"'),
        (
            acting({"type": "Restart", "restart": {"serviceName": "crio"}}),
            f"{ACTION}.restart.serviceName",
            "crio is not the name of a unit",
        ),
        (
            {"units": [{"name": "", "actions": []}]},
            "$.spec.nodeDisruptionPolicy.units.0.name",
            "is not the name of a unit",
        ),
        (
            {"units": [{"name": "a b.service", "actions": []}]},
            "$.spec.nodeDisruptionPolicy.units.0.name",
            "a b.service is not the name of a unit",
        ),
        (
            {"sshkey": {"actions": [{"type": "x"}]}},
            "$.spec.nodeDisruptionPolicy.sshkey.actions.0.type",
            "unknown type x",
        ),
    ],
)
def test_refused(user: Any, path: str, message: str) -> None:
    found = policyrules.problems(configuration(user))
    assert (found[0].path, found[0].subject) == (path, "MachineConfiguration/cluster")
    assert message in found[0].message
    assert found[0].hint


def test_everything_is_listed() -> None:
    wrong = {"files": [{"path": "/a", "actions": [{"type": "x"}, {"type": "y"}]}], "unit": []}
    assert len(policyrules.problems(configuration(wrong))) == 3


def test_only_a_status_may_be_special() -> None:
    status = {"files": [{"path": "/a", "actions": [{"type": "Special"}]}]}
    assert policyrules.problems(configuration(status=status)) == ()


def test_overrides() -> None:
    sound = configuration(irreconcilableValidationOverrides={"storage": ["Disks", "Raid"]})
    assert policyrules.problems(sound) == ()
    spec = policyrules.configuration(sound).spec
    assert spec.irreconcilable_validation_overrides.storage == ("Disks", "Raid")
    (found,) = policyrules.problems(configuration(irreconcilableValidationOverrides={"storage": ["disks"]}))
    assert found.path == "$.spec.irreconcilableValidationOverrides.storage.0"
    assert policyrules.problems(configuration(irreconcilableValidationOverrides=[]))


def test_a_field_of_a_wrong_type() -> None:
    with pytest.raises(InvalidInput) as caught:
        policyrules.configuration({"metadata": {"name": 5}})
    assert caught.value.path == "$.metadata.name"
    with pytest.raises(InvalidInput):
        policyrules.configuration(configuration(irreconcilableValidationOverrides={"storage": 5}))


def known(*arguments: Any, **more: Any) -> DisruptionPolicies:
    return policies.known(policyrules.configuration(configuration(*arguments, **more)))


class TestKnown:
    USER = acting(RESTART)
    MERGED = policies.merged(msgspec.convert(USER, DisruptionPolicies))
    STATUS = msgspec.to_builtins(MERGED)
    OTHER: ClassVar = {"files": [{"path": "/etc/b", "actions": [RELOAD]}]}

    def test_a_spec_comes_over_the_built_in_policies(self) -> None:
        assert known(self.USER) == self.MERGED
        assert known() == policies.DEFAULT

    def test_a_status_counts_as_for_a_daemon(self) -> None:
        status = {**self.OTHER, "files": [*self.OTHER["files"], *self.USER["files"]]}
        found = known(self.USER, status)
        assert [policy.path for policy in found.files] == ["/etc/b", "/etc/a"]
        assert known(None, self.OTHER) == msgspec.convert(self.OTHER, DisruptionPolicies)

    def test_a_status_of_an_older_generation_does_not(self) -> None:
        assert known(self.USER, self.OTHER, generation=2) == self.MERGED

    def test_nor_one_that_lacks_what_the_spec_says(self) -> None:
        assert known(self.USER, self.OTHER) == self.MERGED

    def test_an_empty_status_says_nothing(self) -> None:
        assert known(self.USER, {}) == self.MERGED
