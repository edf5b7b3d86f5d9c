"""Who may have a config, and with which token its machine joins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mco.api.bootstraptokens import BootstrapToken, to_secret
from mco.api.core import Secret
from mco.base.errors import InvalidInput, Unavailable
from mco.configserver.admission import Admission, Gate, Refused, TokenBook, UnknownToken, everybody

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TOKEN = BootstrapToken(
    id="abc123", secret="0123456789abcdef", pool="worker", machine="w1", expiration=NOW + timedelta(hours=1)
)
BEARER = f"Bearer {TOKEN.text}"
SHARED = Admission("shared")


def secret(token: BootstrapToken, **changes: Any) -> Secret:
    return msgspec.convert({**to_secret(token), **changes}, Secret)


def book(*tokens: BootstrapToken) -> TokenBook:
    made = TokenBook()
    for token in tokens or (TOKEN,):
        made.put(secret(token))
    return made


def gate(*, require_token: bool, tokens: TokenBook | None = None) -> Gate:
    return Gate(tokens or book(), lambda: "shared", require_token=require_token)


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("header", [BEARER, f"bearer  {TOKEN.text} "])
def test_a_machine_joins_with_the_token_that_it_showed(required: bool, header: str) -> None:
    assert gate(require_token=required).admit(header, "worker", NOW) == Admission(TOKEN.text, "abc123", "w1")


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize(
    ("header", "pool", "later", "status"),
    [
        (BEARER, "master", 0, 403),
        (BEARER, "worker", 3600, 401),
        (f"Bearer {TOKEN.id}.ffffffffffffffff", "worker", 0, 401),
        ("Bearer zzz999.0123456789abcdef", "worker", 0, 401),
    ],
)
def test_a_token_that_does_not_fit_is_refused(
    required: bool, header: str, pool: str, later: int, status: int
) -> None:
    with pytest.raises(Refused) as refusal:
        gate(require_token=required).admit(header, pool, NOW + timedelta(seconds=later))
    assert refusal.value.status == status
    assert TOKEN.secret not in str(refusal.value)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic YWJjOmRlZg==", "Bearer some.jwt", TOKEN.text]
)
def test_who_shows_no_join_token_gets_the_shared_one_unless_one_is_required(header: str) -> None:
    assert gate(require_token=False).admit(header, "worker", NOW) == SHARED
    with pytest.raises(Refused) as refusal:
        gate(require_token=True).admit(header, "worker", NOW)
    assert refusal.value.status == 401


def test_without_a_shared_token_there_is_no_config_without_a_token() -> None:
    def none() -> str:
        raise Unavailable("there is no shared token")

    with pytest.raises(Unavailable):
        Gate(book(), none).admit("", "worker", NOW)


def test_a_token_that_may_not_authenticate_would_be_useless() -> None:
    tokens = TokenBook()
    body = to_secret(TOKEN)
    body["data"]["usage-bootstrap-authentication"] = "ZmFsc2U="
    tokens.put(msgspec.convert(body, Secret))
    with pytest.raises(Refused) as refusal:
        gate(require_token=True, tokens=tokens).admit(BEARER, "worker", NOW)
    assert refusal.value.status == 403


def test_an_unknown_token_is_told_apart_from_a_wrong_one() -> None:
    """It may have been made a moment ago; a wrong secret will not become right."""
    with pytest.raises(UnknownToken) as unknown:
        book().check("zzz999.0123456789abcdef", "worker", NOW)
    assert unknown.value.token_id == "zzz999"
    with pytest.raises(Refused) as wrong:
        book().check("abc123.ffffffffffffffff", "worker", NOW)
    assert not isinstance(wrong.value, UnknownToken)
    assert str(wrong.value) == str(unknown.value)


def test_a_deleted_token_is_gone_and_a_changed_one_is_the_new_one() -> None:
    tokens = book()
    tokens.put(secret(msgspec.structs.replace(TOKEN, pool="master")))
    assert tokens.check(TOKEN.text, "master", NOW).pool == "master"
    tokens.remove(TOKEN.secret_name)
    assert len(tokens) == 0


def test_a_secret_that_became_unusable_takes_its_token_along() -> None:
    tokens = book()
    with pytest.raises(InvalidInput):
        tokens.put(secret(TOKEN, type="Opaque"))
    assert len(tokens) == 0


def test_a_token_of_somebody_else_is_not_ours() -> None:
    body = to_secret(TOKEN)
    del body["metadata"]["labels"]
    with pytest.raises(InvalidInput):
        TokenBook().put(msgspec.convert(body, Secret))


def test_no_token_in_any_representation() -> None:
    assert TOKEN.text not in repr(Admission(TOKEN.text, "abc123"))


def test_the_bootstrap_server_asks_nobody() -> None:
    assert everybody("", "master", NOW) == Admission("")
