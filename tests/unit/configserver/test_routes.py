"""spec/operator.md 3.2 with the decisions of section 9."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.configserver.routes import Config, Plain, resolve


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("target", "route"),
    [
        ("/config/worker", Config("worker")),
        ("/config/worker?a=b", Config("worker")),
        ("/config/w%6frker", Config("worker")),
        ("https://mcs.example.org:22623/config/worker", Config("worker")),
        ("/healthz", Plain(200)),
        ("/", Plain(404)),
        ("/config/", Plain(404)),
        ("/config/a/b", Plain(404)),
        ("/config/worker/", Plain(404)),
        ("/configs/worker", Plain(404)),
        ("/favicon.ico", Plain(404)),
        ("/config/%FF", Plain(400)),
        ("/config", Plain(307, "/config/")),
        ("/config/../config", Plain(307, "/config/")),
        ("//config/worker", Plain(307, "/config/worker")),
        ("/config//worker?x=1", Plain(307, "/config/worker?x=1")),
        ("/./config/worker", Plain(307, "/config/worker")),
        ("/config/a/../worker", Plain(307, "/config/worker")),
        ("/config/%2e%2e/healthz", Plain(307, "/healthz")),
        ("//evil.example/%2e%2e//x", Plain(307, "/x")),
        ("https://mcs.example.org", Plain(404)),
    ],
)
def test_reading(method: str, target: str, route: Config | Plain) -> None:
    assert resolve(method, target) == route


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("target", ["/config/worker", "/config/", "/healthz", "/", "/nothing"])
def test_other_methods_are_refused(method: str, target: str) -> None:
    assert resolve(method, target) == Plain(405)


def test_redirects_do_not_depend_on_the_method() -> None:
    assert resolve("POST", "/config") == Plain(307, "/config/")


@given(st.text(alphabet="/.%2econfgwrk?#é\x00"))
def test_a_redirect_stays_on_this_server_and_ends_the_search(target: str) -> None:
    route = resolve("GET", target)
    if isinstance(route, Plain) and route.status == 307:
        assert route.location.startswith("/")
        assert not route.location.startswith("//")
        again = resolve("GET", route.location)
        assert isinstance(again, Config) or again.status != 307
    elif isinstance(route, Config):
        assert route.pool
        assert "/" not in route.pool
