"""Who asks, and may they: the embedded server's own identities (design.md 10)."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from cryptography import x509

from mco.api import configcopies, names
from mco.apiserver import credentials
from mco.apiserver.auth.tokens import read_token_file
from mco.apiserver.server import Settings
from mco.base.errors import InvalidInput
from mco.pki import authority, keys, kubeconfig, requests
from tests.contract.apiserver.definitions import CRDS
from tests.contract.apiserver.embedded import in_thread
from tests.contract.apiserver.endpoint import Api, Body, Endpoint

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
ROLE = "node-role.kubernetes.io/worker"


@pytest.fixture
def endpoint(embedded: Endpoint) -> Endpoint:
    return embedded


def _user(endpoint: Endpoint, name: str, *groups: str) -> Api:
    return Api.of(credentials.mint_kubeconfig(endpoint.kubeconfig.parent, name, groups))


@pytest_asyncio.fixture
async def node(endpoint: Endpoint, prefix: str) -> AsyncIterator[Api]:
    """The node called like the test's prefix."""
    async with _user(endpoint, f"system:node:{prefix}", "system:nodes") as api:
        yield api


@pytest_asyncio.fixture
async def stranger(endpoint: Endpoint) -> AsyncIterator[Api]:
    async with Api.stranger(endpoint.kubeconfig.read_bytes()) as api:
        yield api


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
async def test_a_stranger_may_ask_for_health(stranger: Api, path: str) -> None:
    assert (await stranger.get(path)).status == 200


@pytest.mark.parametrize(
    "path", ["/api", "/apis", "/openapi/v3", "/api/v1/nodes", "/api/v1/namespaces/default"]
)
async def test_a_stranger_may_ask_for_nothing_else(stranger: Api, path: str) -> None:
    reply = await stranger.get(path)
    assert (reply.status, reply.body["reason"], reply.message) == (401, "Unauthorized", "Unauthorized")


async def test_an_unknown_token_is_refused(endpoint: Endpoint) -> None:
    async with Api.stranger(endpoint.kubeconfig.read_bytes(), token="abcdef.0123456789abcdef") as api:
        assert (await api.get("/version")).status == 401


async def test_somebody_known_without_rights_is_forbidden(endpoint: Endpoint) -> None:
    async with _user(endpoint, "jane", "staff") as jane:
        reply = await jane.get("/api/v1/nodes/n")
        assert (reply.status, reply.body["reason"]) == (403, "Forbidden")
        assert reply.message.removeprefix('nodes "n" is forbidden: ') == (
            'User "jane" cannot get resource "nodes" in API group "" at the cluster scope'
        )
        assert (await jane.get("/api")).status == 200


async def test_a_certificate_that_expired_is_answered_and_refused(endpoint: Endpoint) -> None:
    folder = endpoint.kubeconfig.parent
    signer = credentials.authority_of(folder)
    then = datetime.now(UTC) - timedelta(days=2)
    pair = signer.client("mco:admin", ["system:masters"], then, timedelta(days=1))
    text = kubeconfig.with_certificate(credentials.server_url(folder), signer.certificate_pem, "old", pair)
    async with Api.of(text) as api:
        assert (await api.get("/api/v1/nodes")).status == 401


async def test_a_serving_certificate_is_refused_in_the_handshake(endpoint: Endpoint) -> None:
    folder = endpoint.kubeconfig.parent
    signer = credentials.authority_of(folder)
    pair = signer.server("mco:admin", ["localhost"], datetime.now(UTC))
    text = kubeconfig.with_certificate(credentials.server_url(folder), signer.certificate_pem, "x", pair)
    async with Api.of(text) as api:
        with pytest.raises(aiohttp.ClientError):
            await api.get("/api/v1/nodes")


async def test_an_administrator_may_act_as_somebody_else(endpoint: Endpoint) -> None:
    node = {"Impersonate_User": "system:node:x", "Impersonate_Group": "system:nodes"}
    async with Api.of(endpoint.kubeconfig.read_bytes(), **node) as acting:
        assert (await acting.get("/api/v1/nodes/x")).status == 404
        assert (await acting.get("/api/v1/nodes/y")).status == 403
    admin = {"Impersonate_User": "admin", "Impersonate_Group": "system:masters"}
    jane = credentials.mint_kubeconfig(endpoint.kubeconfig.parent, "jane")
    async with Api.of(jane, **admin) as acting:
        assert (await acting.get("/api/v1/nodes")).status == 403


# -- nodes


async def test_a_node_registers_reports_and_renews(node: Api, prefix: str) -> None:
    await node.create("/api/v1/nodes", {"metadata": {"name": prefix}})
    path = f"/api/v1/nodes/{prefix}"
    assert (await node.get(path)).status == 200
    annotated = await node.patch(path, {"metadata": {"annotations": {"a": "b"}}})
    assert annotated.status == 200
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert (await node.patch(f"{path}/status", ready)).status == 200
    await node.create(LEASES, {"metadata": {"name": prefix}, "spec": {"holderIdentity": prefix}})
    assert (await node.patch(f"{LEASES}/{prefix}", {"spec": {"leaseDurationSeconds": 40}})).status == 200


async def test_a_node_writes_no_other_node(api: Api, node: Api, prefix: str) -> None:
    other = f"{prefix}-other"
    created = await node.post("/api/v1/nodes", {"metadata": {"name": other}})
    assert created.status == 403
    await api.create("/api/v1/nodes", {"metadata": {"name": other}})
    for path in (f"/api/v1/nodes/{other}", f"/api/v1/nodes/{other}/status"):
        assert (await node.patch(path, {"metadata": {"annotations": {"a": "b"}}})).status == 403
    assert (await node.get(f"/api/v1/nodes/{other}")).status == 403
    assert (await node.post(LEASES, {"metadata": {"name": other}})).status == 403
    assert (await node.delete(f"/api/v1/nodes/{prefix}")).status == 403


async def test_a_node_lists_and_watches_only_itself(node: Api, prefix: str) -> None:
    await node.create("/api/v1/nodes", {"metadata": {"name": prefix}})
    assert (await node.get("/api/v1/nodes")).status == 403
    assert (await node.get("/api/v1/nodes", fieldSelector="metadata.name=other")).status == 403
    assert (await node.get("/api/v1/nodes", fieldSelector=f"metadata.name!={prefix}")).status == 403
    mine = await node.get("/api/v1/nodes", fieldSelector=f"metadata.name={prefix}")
    assert [item["metadata"]["name"] for item in mine.body["items"]] == [prefix]
    async with node.watch("/api/v1/nodes", fieldSelector=f"metadata.name={prefix}") as events:
        assert (await events.next())["object"]["metadata"]["name"] == prefix


@pytest.mark.parametrize(
    "label",
    [
        ROLE,
        "node-role.kubernetes.io/master",
        "kubernetes.io/role",
        "machineconfiguration.openshift.io/role",
        "node-restriction.kubernetes.io/x",
    ],
)
async def test_a_node_does_not_choose_its_role(api: Api, node: Api, prefix: str, label: str) -> None:
    with_role = {"metadata": {"name": prefix, "labels": {label: ""}}}
    refused = await node.post("/api/v1/nodes", with_role)
    assert refused.status == 403
    assert f"is not allowed to set the following labels: {label}" in refused.message
    await api.create("/api/v1/nodes", {"metadata": {"name": prefix, "labels": {"old": "1"}}})
    path = f"/api/v1/nodes/{prefix}"
    for sub in ("", "/status"):
        changed = await node.patch(f"{path}{sub}", {"metadata": {"labels": {label: "x"}}})
        assert changed.status == 403
        assert f"is not allowed to modify labels: {label}" in changed.message
    await api.patch(path, {"metadata": {"labels": {label: "set"}}})
    assert (await node.patch(path, {"metadata": {"labels": {label: None}}})).status == 403
    assert (
        await node.patch(path, {"metadata": {"labels": {"own": "1", "kubernetes.io/os": "linux"}}})
    ).status == 200


async def test_a_node_does_not_change_its_taints(api: Api, node: Api, prefix: str) -> None:
    await api.create("/api/v1/nodes", {"metadata": {"name": prefix}})
    taints = {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
    assert (await node.patch(f"/api/v1/nodes/{prefix}", taints)).status == 403


async def test_a_node_reads_no_secret(api: Api, node: Api) -> None:
    await api.create("/api/v1/namespaces/default/secrets", {"metadata": {"generateName": "s-"}})
    for path in (
        "/api/v1/secrets",
        "/api/v1/namespaces/default/secrets",
        "/api/v1/namespaces/kube-system/secrets/a",
    ):
        assert (await node.get(path)).status == 403
    assert (await node.get("/api/v1/namespaces/default/configmaps")).status == 403
    assert (await node.get("/api/v1/pods")).status == 403
    assert (await node.get(CRDS)).status == 403


async def test_a_node_makes_secrets_of_its_own_copies_only(api: Api, node: Api, prefix: str) -> None:
    """And reads, changes and removes none. What they hold is judged by an admission policy."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names.NAMESPACE}}
    await api.post("/api/v1/namespaces", namespace)
    path = f"/api/v1/namespaces/{names.NAMESPACE}/secrets"

    def copy(of: str, type_: str = configcopies.SECRET_TYPE) -> Body:
        return {"metadata": {"name": configcopies.secret_name(of, "a" * 16, 0)}, "type": type_}

    await node.create(path, copy(prefix))
    for refused in (copy("other"), copy(f"x{prefix}"), copy(prefix, "Opaque"), {"metadata": {"name": "s"}}):
        assert (await node.post(path, refused)).status == 403
    assert (await node.post("/api/v1/namespaces/default/secrets", copy(prefix))).status == 403
    own = f"{path}/{configcopies.secret_name(prefix, 'a' * 16, 0)}"
    for reply in (await node.get(own), await node.patch(own, {"data": None}), await node.delete(own)):
        assert reply.status == 403
    await api.delete(own)


async def test_a_node_reports_events_about_itself(node: Api, prefix: str) -> None:
    path = "/api/v1/namespaces/default/events"

    def event(about: str) -> Body:
        return {
            "metadata": {"generateName": "e-"},
            "involvedObject": {"kind": "Node", "name": about},
            "reason": "R",
        }

    await node.create(path, event(prefix))
    assert (await node.post(path, event("other"))).status == 403


async def test_a_name_alone_makes_no_node(endpoint: Endpoint, prefix: str) -> None:
    async with _user(endpoint, f"system:node:{prefix}") as impostor:
        assert (await impostor.get(f"/api/v1/nodes/{prefix}")).status == 403
    async with _user(endpoint, prefix, "system:nodes") as impostor:
        assert (await impostor.get(f"/api/v1/nodes/{prefix}")).status == 403


# -- machines that join


def _request_of(node: str, name: str) -> Body:
    pem = requests.create_for_node(keys.generate(), node)
    return {
        "metadata": {"name": name},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": requests.NODE_SIGNER,
            "usages": ["client auth", "digital signature"],
        },
    }


async def _token(api: Api, identifier: str, **data: str) -> str:
    content = {
        "token-id": identifier,
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:machine-config:worker,system:masters",
    } | {key.replace("_", "-"): value for key, value in data.items()}
    body = {
        "metadata": {"name": f"bootstrap-token-{identifier}"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": content,
    }
    await api.create("/api/v1/namespaces/kube-system/secrets", body)
    return f"{identifier}.0123456789abcdef"


async def test_a_token_is_good_for_one_certificate_request(api: Api, endpoint: Endpoint, prefix: str) -> None:
    token = await _token(api, "aaaaaa", expiration=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    async with Api.stranger(endpoint.kubeconfig.read_bytes(), token=token) as machine:
        created = await machine.create(REQUESTS, _request_of(prefix, f"{prefix}-csr"))
        assert created["spec"]["username"] == "system:bootstrap:aaaaaa"
        assert set(created["spec"]["groups"]) == {
            "system:authenticated",
            "system:bootstrappers",
            "system:bootstrappers:machine-config:worker",
        }
        async with machine.watch(REQUESTS, fieldSelector=f"metadata.name={prefix}-csr") as events:
            await events.next()
            approval = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "T"}]}}
            await api.patch(f"{REQUESTS}/{prefix}-csr/approval", approval)
            assert (await events.next())["object"]["status"]["conditions"][0]["type"] == "Approved"
        for path in (REQUESTS, "/api/v1/nodes", "/api/v1/namespaces/kube-system/secrets"):
            assert (await machine.get(path)).status == 403
        assert (await machine.patch(f"{REQUESTS}/{prefix}-csr/approval", approval)).status == 403
        assert (await machine.patch(f"{REQUESTS}/{prefix}-csr/status", {"status": {}})).status == 403
        assert (await machine.delete(f"{REQUESTS}/{prefix}-csr")).status == 403


@pytest.mark.parametrize(
    "data",
    [
        {"expiration": "2001-01-01T00:00:00Z"},
        {"expiration": "tomorrow"},
        {"usage_bootstrap_authentication": "false"},
        {"token_secret": "fedcba9876543210"},
        {"token_id": "zzzzzz"},
    ],
)
async def test_a_token_that_is_not_valid_is_refused(
    api: Api, endpoint: Endpoint, prefix: str, data: dict[str, str]
) -> None:
    token = await _token(api, prefix.rjust(6, "b"), **data)
    async with Api.stranger(endpoint.kubeconfig.read_bytes(), token=token) as machine:
        assert (await machine.post(REQUESTS, _request_of("n", "n"))).status == 401


async def test_a_deleted_token_is_refused_at_once(api: Api, endpoint: Endpoint) -> None:
    token = await _token(api, "cccccc")
    async with Api.stranger(endpoint.kubeconfig.read_bytes(), token=token) as machine:
        assert (await machine.get("/api")).status == 200
        await api.delete("/api/v1/namespaces/kube-system/secrets/bootstrap-token-cccccc")
        assert (await machine.get("/api")).status == 401


async def test_a_node_asks_only_for_its_own_certificate(node: Api, prefix: str) -> None:
    await node.create(REQUESTS, _request_of(prefix, f"{prefix}-renewal"))
    refused = await node.post(REQUESTS, _request_of("other", f"{prefix}-theft"))
    assert refused.status == 403
    assert "may not ask for a certificate of system:node:other" in refused.message


async def test_a_request_records_who_asked_and_never_changes(api: Api, prefix: str) -> None:
    body = _request_of(prefix, f"{prefix}-csr")
    body["spec"]["username"] = "system:admin"
    created = await api.create(REQUESTS, body)
    assert created["spec"]["username"] == "mco:admin"
    changed = await api.patch(f"{REQUESTS}/{prefix}-csr", {"spec": {"signerName": "other"}})
    assert changed.body["spec"] == created["spec"]
    status = {"status": {"certificate": "Zm9v", "conditions": [{"type": "Approved", "status": "True"}]}}
    approved = await api.patch(f"{REQUESTS}/{prefix}-csr/approval", status)
    assert "certificate" not in approved.body["status"]
    denied = {"status": {"conditions": [{"type": "Denied", "status": "True"}]}}
    assert (await api.patch(f"{REQUESTS}/{prefix}-csr/approval", denied)).status == 422


@pytest.mark.parametrize("request_", ["", "Zm9v", "not base64"])
async def test_a_request_must_be_one(api: Api, prefix: str, request_: str) -> None:
    body = _request_of(prefix, f"{prefix}-csr")
    body["spec"]["request"] = request_
    reply = await api.post(REQUESTS, body)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")


# -- components, and the files


async def test_components_have_what_they_need_and_no_more(endpoint: Endpoint) -> None:
    async with _user(endpoint, "system:mco:operator") as operator:
        assert (await operator.get(CRDS)).status == 200
        assert (await operator.get("/api/v1/namespaces/kube-system/secrets")).status == 403
    async with _user(endpoint, "system:mco:controller") as controller:
        assert (await controller.get("/api/v1/nodes")).status == 200
        assert (await controller.get(CRDS)).status == 403
    async with _user(endpoint, "system:mco:configserver") as server:
        assert (await server.get("/api/v1/namespaces/kube-system/secrets")).status == 200
        assert (await server.get("/api/v1/nodes")).status == 403
    async with _user(endpoint, "system:mco:unheard-of") as unknown:
        assert (await unknown.get("/api/v1/nodes")).status == 403


def test_static_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text('secret-1,jane,1,"system:masters,staff"\n\nsecret-2,joe,2\n')
    users = read_token_file(path)
    assert {token: user.name for token, user in users.items()} == {"secret-1": "jane", "secret-2": "joe"}
    assert {"system:masters", "staff", "system:authenticated"} == users["secret-1"].groups


def test_a_bad_token_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("a,b,c\nonly-a-token\n")
    with pytest.raises(InvalidInput, match="line 2"):
        read_token_file(path)


async def test_a_static_token_is_a_user(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text('secret,jane,1,"system:masters"\n')
    settings = Settings(data_dir=tmp_path / "data", tokens=read_token_file(tokens))
    with in_thread(settings) as server:
        async with Api.stranger(server.kubeconfig.read_bytes(), token="secret") as jane:
            assert (await jane.get("/api/v1/nodes")).status == 200


def test_everything_secret_is_private(endpoint: Endpoint) -> None:
    folder = endpoint.kubeconfig.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    for name in ("ca.key", "apiserver.key", "kubeconfig", "objects.db", "lock"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600, name


def test_the_certificate_names_every_address(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path, bind=("127.0.0.1", "127.0.0.2"), names=("api.example.com", "10.1.2.3")
    )
    with in_thread(settings):
        certificate = x509.load_pem_x509_certificate((tmp_path / "apiserver.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {str(name.value) for name in names} == {
        "localhost",
        "127.0.0.1",
        "127.0.0.2",
        "::1",
        "api.example.com",
        "10.1.2.3",
    }


def test_the_authority_survives_a_restart(tmp_path: Path) -> None:
    with in_thread(Settings(data_dir=tmp_path)):
        before = authority.load(tmp_path / "ca.crt", tmp_path / "ca.key").certificate
    with in_thread(Settings(data_dir=tmp_path)):
        assert authority.load(tmp_path / "ca.crt", tmp_path / "ca.key").certificate == before
