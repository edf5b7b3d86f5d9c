"""spec/operator.md 1.6: credentials for the cluster's own registry."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from mco.api.core import Secret
from mco.api.meta.objects import ObjectMeta
from mco.base.errors import InvalidInput
from mco.plan.installation.pullsecret import merged

INTERNAL = "image-registry.openshift-image-registry.svc:5000"
ROUTE = "default-route-openshift-image-registry.apps.example"


def secret(key: str, text: str, type_: str = "kubernetes.io/dockerconfigjson") -> Secret:
    data = {key: base64.b64encode(text.encode()).decode()}
    return Secret(metadata=ObjectMeta(name="s", namespace="n"), type=type_, data=data)


def account(**auths: Any) -> Secret:
    return secret(".dockercfg", msgspec.json.encode(auths).decode(), "kubernetes.io/dockercfg")


def cluster(text: str = '{"auths": {"quay.io": {"auth": "cXVheQ=="}}}') -> Secret:
    return secret(".dockerconfigjson", text)


def auths(*arguments: Any) -> Any:
    return msgspec.json.decode(merged(*arguments))["auths"]


def test_all_of_them_are_merged() -> None:
    entry = {"username": "u", "password": "p", "email": "e", "auth": "YQ=="}
    first, second = account(**{INTERNAL: entry, "a": {"auth": "old"}}), account(a={"auth": "new"})
    found = auths([first, second], cluster(), "example")
    assert found == {INTERNAL: entry, ROUTE: entry, "a": {"auth": "new"}, "quay.io": {"auth": "cXVheQ=="}}
    assert list(found) == sorted(found)


def test_the_public_name_is_only_for_who_has_the_registry() -> None:
    assert auths([], cluster(), "example") == {"quay.io": {"auth": "cXVheQ=="}}


@pytest.mark.parametrize("text", ["", "{}", " {}\n"])
def test_nobody_has_credentials(text: str) -> None:
    assert merged([], cluster(text), "example") == b""
    assert auths([account(a={"auth": "x"})], cluster(text), "example") == {"a": {"auth": "x"}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            secret(".dockerconfigjson", "{}", "Opaque"),
            "expected secret type kubernetes.io/dockerconfigjson found",
        ),
        (
            cluster('{"auths": {"a": "c2VjcmV0"}}'),
            "the secret's .dockerconfigjson is no docker configuration",
        ),
        (cluster("c2VjcmV0"), "the secret's .dockerconfigjson is no docker configuration"),
    ],
)
def test_what_cannot_be_used_is_named_and_not_shown(found: Secret, said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        merged([], found, "example")
    assert said in raised.value.message
    assert raised.value.subject == "Secret/n/s"
    assert "c2VjcmV0" not in str(raised.value)


def test_an_account_without_a_configuration() -> None:
    with pytest.raises(InvalidInput, match=r"the secret's \.dockercfg is no docker configuration"):
        merged([Secret(metadata=ObjectMeta(name="s", namespace="n"))], cluster(), "example")
