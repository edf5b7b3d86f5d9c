"""Requests are values: what is asked, without a socket."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.api.resources import EVENTS, LEASES, MACHINE_CONFIG_POOLS, NODES
from mco.base.errors import InvalidInput
from mco.kube import requests
from mco.kube.requests import Request, Selection, WatchFrom


@pytest.mark.parametrize(
    ("request_", "method", "path"),
    [
        (requests.one("GET", NODES, "w1"), "GET", "/api/v1/nodes/w1"),
        (
            requests.one("PATCH", MACHINE_CONFIG_POOLS, "worker", subresource="status", body={}),
            "PATCH",
            "/apis/machineconfiguration.openshift.io/v1/machineconfigpools/worker/status",
        ),
        (
            requests.one("GET", LEASES, "w1", namespace="kube-node-lease"),
            "GET",
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/w1",
        ),
        (requests.create(EVENTS, {}, "default"), "POST", "/api/v1/namespaces/default/events"),
        (requests.list_page(EVENTS, Selection()), "GET", "/api/v1/events"),
    ],
)
def test_requests_go_to_the_kubernetes_paths(request_: Request, method: str, path: str) -> None:
    assert (request_.method, request_.path) == (method, path)


@pytest.mark.parametrize(
    "build",
    [
        lambda: requests.one("DELETE", NODES, ""),
        lambda: requests.one("DELETE", LEASES, "w1"),
        lambda: requests.one("GET", NODES, ".."),
        lambda: requests.one("GET", LEASES, "w1", namespace=".."),
    ],
)
def test_a_missing_or_climbing_name_never_reaches_another_object(build: Callable[[], Request]) -> None:
    with pytest.raises(InvalidInput):
        build()


@given(st.text(min_size=1).filter(lambda text: text not in (".", "..")))
def test_any_other_name_stays_one_piece_of_the_path(name: str) -> None:
    path = requests.one("GET", NODES, name).path
    assert path.isascii()
    assert path.count("/") == 4
    assert not set(path) & set("?#\r\n ")


def test_a_created_object_gets_its_kind() -> None:
    request = requests.create(NODES, {"metadata": {"name": "w1"}})
    assert request.body is not None
    assert json.loads(request.body) == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "w1"}}
    assert request.subject == "Node/w1"


def test_a_watch_asks_for_what_an_informer_needs() -> None:
    selection = Selection(label_selector="a=b", field_selector="metadata.name=w1")
    start = WatchFrom(resource_version="7", timeout=300)
    assert dict(requests.watch(NODES, selection, start).params) == {
        "watch": "true",
        "labelSelector": "a=b",
        "fieldSelector": "metadata.name=w1",
        "resourceVersion": "7",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }


def test_initial_events_are_asked_for_as_the_api_demands() -> None:
    """A server refuses sendInitialEvents without resourceVersionMatch=NotOlderThan."""
    params = dict(requests.watch(NODES, Selection(), WatchFrom(initial_events=True)).params)
    assert params["sendInitialEvents"] == "true"
    assert params["resourceVersionMatch"] == "NotOlderThan"
    assert "resourceVersion" not in params


def test_a_delete_without_demands_has_no_body() -> None:
    assert requests.delete_options("", "", "") is None
    assert requests.delete_options("7", "u", "Foreground") == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"resourceVersion": "7", "uid": "u"},
        "propagationPolicy": "Foreground",
    }


def test_only_reads_may_be_repeated_at_will() -> None:
    assert requests.one("GET", NODES, "a").reads
    assert not requests.one("PATCH", NODES, "a", body={}).reads
    assert not requests.one("DELETE", NODES, "a").reads
