"""Admission policies by themselves."""

from __future__ import annotations

import pytest

from mco.apiserver.admission.matching import Review
from mco.apiserver.admission.policy import Policy
from mco.apiserver.cel import cost

REVIEW = Review(operation="CREATE", group="", version="v1", resource="nodes", kind="Node", new={})


def test_the_expressions_of_a_policy_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "PER_REQUEST", 10_000)
    loop = {"expression": "lists.range(1000).all(a, a >= 0)"}
    policy = Policy({"metadata": {"name": "a"}, "spec": {"validations": [loop] * 4}})
    denials = [denial.message for denial in policy.denials(REVIEW, None, lambda _: "")]
    assert denials
    assert len(denials) < 4
    assert all(text.endswith("running out of cost budget") for text in denials)
