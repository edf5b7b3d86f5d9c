"""design.md 10, identity: who may have which name, and as what a machine joins."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.bootstraptokens import BootstrapToken
from mco.api.core import CertificateSigningRequest, Node
from mco.plan.pool import join
from tests.factories import node

TOKENS = {
    "aaaaaa": BootstrapToken(id="aaaaaa", secret="x" * 16, pool="edge"),
    "bbbbbb": BootstrapToken(id="bbbbbb", secret="x" * 16, pool="worker", machine="w1"),
}


def request(user: str, machine: str = "m1", **spec: Any) -> CertificateSigningRequest:
    body = {
        "metadata": {"name": "csr", "annotations": {names.MACHINE_ID: machine}},
        "spec": {"signerName": join.NODE_SIGNER, "username": user, "usages": ["client auth"]} | spec,
    }
    return msgspec.convert(body, CertificateSigningRequest)


def alive(machine: str, ready: bool = True) -> Node:
    base = node("w1", "V1", ready=ready)
    info = msgspec.structs.replace(base.status.node_info, machine_id=machine)
    return msgspec.structs.replace(base, status=msgspec.structs.replace(base.status, node_info=info))


@pytest.mark.parametrize(
    ("user", "existing", "approved", "reason"),
    [
        ("system:bootstrap:aaaaaa", None, True, "AutoApproved"),
        ("system:bootstrap:bbbbbb", None, True, "AutoApproved"),
        ("system:bootstrap:cccccc", None, False, "UnknownRequester"),
        ("system:node:w1", None, True, "AutoApproved"),
        ("system:node:w2", None, False, "ForeignName"),
        ("system:serviceaccount:default:x", None, False, "UnknownRequester"),
        ("system:bootstrap:aaaaaa", alive("m1"), True, "AutoApproved"),
        ("system:bootstrap:aaaaaa", alive("m2"), False, "NameTaken"),
        ("system:bootstrap:aaaaaa", alive("m2", ready=False), True, "AutoApproved"),
        ("system:bootstrap:aaaaaa", alive(""), True, "AutoApproved"),
    ],
)
def test_verdicts(user: str, existing: Node | None, approved: bool, reason: str) -> None:
    verdict = join.judge(request(user), "w1", TOKENS, existing)
    assert (verdict.approved, verdict.reason) == (approved, reason)


def test_a_token_for_one_machine_serves_no_other() -> None:
    verdict = join.judge(request("system:bootstrap:bbbbbb"), "w2", TOKENS, None)
    assert (verdict.approved, verdict.reason) == (False, "ForeignToken")


def test_usages_beyond_a_client_are_denied() -> None:
    verdict = join.judge(request("system:node:w1", usages=["server auth"]), "w1", TOKENS, None)
    assert (verdict.approved, verdict.reason) == (False, "UnexpectedUsage")


def test_only_unanswered_node_requests_are_ours() -> None:
    assert join.mine(request("system:node:w1"))
    assert not join.mine(request("system:node:w1", signerName="example.com/other"))
    answered = {"conditions": [{"type": "Denied", "status": "True"}]}
    body = msgspec.to_builtins(request("system:node:w1")) | {"status": answered}
    assert not join.mine(msgspec.convert(body, CertificateSigningRequest))


@pytest.mark.parametrize(
    ("pool", "roles"),
    [
        ("worker", {"worker"}),
        ("edge", {"worker"}),
        ("master", {"master", "control-plane"}),
        ("arbiter", {"arbiter"}),
    ],
)
def test_roles(pool: str, roles: set[str]) -> None:
    labels = join.role_labels(pool)
    assert set(labels) == {f"node-role.kubernetes.io/{role}" for role in roles}
    assert join.has_role(node("n", labels=labels))
    assert not join.has_role(node("n", labels={"kubernetes.io/os": "linux"}))
