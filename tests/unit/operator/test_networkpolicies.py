"""spec/operator.md 8.8."""

from __future__ import annotations

from mco.operator.networkpolicies import policies


def test_allow_first_deny_last() -> None:
    first, *scraped, last = policies()
    assert first["metadata"]["name"] == "allow-all-egress"
    assert first["spec"]["egress"] == [{}]
    assert first["spec"]["podSelector"] == {}
    assert [policy["metadata"]["name"] for policy in scraped] == [
        "allow-machine-config-operator",
        "allow-machine-config-controller",
        "allow-machine-os-builder",
    ]
    assert last["metadata"]["name"] == "default-deny"
    assert last["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [],
        "egress": [],
    }


def test_what_is_scraped_is_reached_on_one_port_only() -> None:
    for policy in policies()[1:-1]:
        name = policy["metadata"]["name"].removeprefix("allow-")
        assert policy["spec"]["podSelector"] == {"matchLabels": {"k8s-app": name}}
        assert policy["spec"]["ingress"] == [{"ports": [{"port": 9001, "protocol": "TCP"}]}]
        assert policy["spec"]["policyTypes"] == ["Ingress"]
