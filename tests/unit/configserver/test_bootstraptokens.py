"""Join tokens as Secrets."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mco.api import bootstraptokens, names
from mco.api.bootstraptokens import BootstrapToken, from_secret, split, to_secret
from mco.api.core import Secret
from mco.base.errors import InvalidInput

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TOKEN = BootstrapToken(id="abc123", secret="0123456789abcdef", pool="worker", expiration=NOW)


def secret(body: dict[str, Any]) -> Secret:
    return msgspec.convert(body, Secret)


def with_data(**data: str | None) -> Secret:
    body = to_secret(TOKEN)
    for key, value in data.items():
        name = key.replace("_", "-")
        del body["data"][name]
        if value is not None:
            body["data"][name] = base64.b64encode(value.encode()).decode()
    return secret(body)


@pytest.mark.parametrize("machine", ["", "node-1.example.org"])
@pytest.mark.parametrize("expiration", [None, NOW])
def test_a_token_survives_its_secret(machine: str, expiration: datetime | None) -> None:
    token = msgspec.structs.replace(TOKEN, machine=machine, expiration=expiration)
    assert from_secret(secret(to_secret(token))) == token


def test_the_secret_is_one_that_kubernetes_accepts() -> None:
    body = to_secret(TOKEN)
    assert body["type"] == "bootstrap.kubernetes.io/token"
    assert body["metadata"] == {
        "name": "bootstrap-token-abc123",
        "namespace": "kube-system",
        "labels": {names.JOIN_POOL_LABEL: "worker"},
    }
    assert {key: base64.b64decode(value).decode() for key, value in body["data"].items()} == {
        "token-id": "abc123",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:machine-config:worker",
        "expiration": "2026-11-30T12:00:00Z",
    }


def test_a_token_expires_at_its_time() -> None:
    assert TOKEN.expired(NOW)
    assert not TOKEN.expired(NOW - timedelta(seconds=1))
    assert not msgspec.structs.replace(TOKEN, expiration=None).expired(NOW)


def test_a_token_that_may_not_authenticate_says_so() -> None:
    assert not from_secret(with_data(usage_bootstrap_authentication="false")).authenticates
    assert not from_secret(with_data(usage_bootstrap_authentication=None)).authenticates


@pytest.mark.parametrize(
    "broken",
    [
        {"token_id": "ABC123"},
        {"token_id": None},
        {"token_id": "zzz999"},
        {"token_secret": "short"},
        {"expiration": "tomorrow"},
        {"expiration": "2026-11-30T12:00:00"},
    ],
)
def test_a_broken_secret_is_named_and_shows_nothing(broken: dict[str, str | None]) -> None:
    with pytest.raises(InvalidInput) as error:
        from_secret(with_data(**broken))
    assert error.value.subject == "Secret/kube-system/bootstrap-token-abc123"
    assert TOKEN.secret not in str(error.value)


def test_another_type_of_secret_is_no_token() -> None:
    with pytest.raises(InvalidInput):
        from_secret(secret({**to_secret(TOKEN), "type": "Opaque"}))


def test_data_that_is_not_base64_is_named() -> None:
    body = to_secret(TOKEN)
    body["data"]["token-id"] = "%%%"
    with pytest.raises(InvalidInput) as error:
        from_secret(secret(body))
    assert error.value.path == "$.data.token-id"


@pytest.mark.parametrize("pool", ["", "Worker", "a b", "-a", "x" * 64])
def test_a_pool_that_no_machine_could_ask_for_is_refused(pool: str) -> None:
    with pytest.raises(InvalidInput):
        to_secret(msgspec.structs.replace(TOKEN, pool=pool))


def test_the_text_has_the_form_of_kubernetes() -> None:
    assert split(TOKEN.text) == (TOKEN.id, TOKEN.secret)
    assert split("abc123.0123456789abcde") is None
    assert split("abc123.0123456789abcdef\n") is None


def test_the_secret_part_is_in_no_representation() -> None:
    assert TOKEN.secret not in repr(TOKEN)
    assert bootstraptokens.NAMESPACE == "kube-system"
