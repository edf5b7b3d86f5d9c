"""How machines reach the API server, as the cluster says it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from mco.apiserver.server import Settings, running
from mco.base.errors import InvalidInput
from mco.kube.client import Client
from mco.kube.config import Cluster, Material, load
from mco.operator.endpoint import Endpoint, discover

OWN = Cluster(server="https://10.0.0.1:443", ca=Material(data=b"own"))
MAPS = "/api/v1/namespaces/kube-public/configmaps"
INFO = """\
apiVersion: v1
kind: Config
clusters:
- name: ""
  cluster:
    server: {server}
    certificate-authority-data: cHVibGlzaGVk
"""


@pytest.fixture
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    folder = tmp_path_factory.mktemp(uuid.uuid4().hex[:8])
    async with running(Settings(data_dir=folder)) as server, Client(load(server.kubeconfig)) as client:
        yield client


async def publish(client: Client, text: str) -> None:
    body = {"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": text}}
    await client.request("POST", MAPS, body={"apiVersion": "v1", "kind": "ConfigMap", **body})


async def test_a_cluster_that_says_nothing_is_reached_as_we_reach_it(client: Client) -> None:
    assert await discover(client, OWN) == Endpoint(server=OWN.server, authorities=b"own")


async def test_what_kubeadm_published_is_taken(client: Client) -> None:
    await publish(client, INFO.format(server="https://api.example:6443"))
    expected = Endpoint(server="https://api.example:6443", authorities=b"published")
    assert await discover(client, OWN) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (INFO.format(server="api.example"), '"api.example" is not the URL of an API server'),
        ("clusters: []\n", "the kubeconfig names 0 clusters"),
        ("- x\n", "the kubeconfig is not one mapping"),
    ],
)
async def test_a_broken_one_is_named(client: Client, text: str, said: str) -> None:
    await publish(client, text)
    with pytest.raises(InvalidInput, match=said) as caught:
        await discover(client, OWN)
    assert "kube-public/cluster-info" in caught.value.subject + caught.value.path


async def test_openshift_says_it_in_its_infrastructure(client: Client) -> None:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"plural": "infrastructures", "singular": "infrastructure", "kind": "Infrastructure"}
    spec = {"group": "config.openshift.io", "scope": "Cluster", "names": names, "versions": [version]}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    definition = {"metadata": {"name": "infrastructures.config.openshift.io"}, "spec": spec}
    whole = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **definition}
    await client.request("POST", crds, body=whole)
    body = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "status": {"apiServerInternalURI": "https://api-int.example:6443"},
    }
    await client.request("POST", "/apis/config.openshift.io/v1/infrastructures", body=body)
    await publish(client, INFO.format(server="https://api.example:6443"))
    expected = Endpoint(server="https://api-int.example:6443", authorities=b"own")
    assert await discover(client, OWN) == expected
