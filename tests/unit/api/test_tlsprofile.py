"""spec/operator.md 1.6, spec/render.md 2.6: what an APIServer says of TLS, in Go's names."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api.tlsprofile import INTERMEDIATE, Profile, profile
from mco.base.errors import InvalidInput

GCM = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"


def said(**security: Any) -> dict[str, Any]:
    return {"spec": {"tlsSecurityProfile": security}}


@pytest.mark.parametrize(
    "api_server",
    [{}, {"spec": {}}, {"spec": {"tlsSecurityProfile": None}}, said(type="Custom"), said(type="Future")],
)
def test_intermediate_unless_something_else_is_said(api_server: dict[str, Any]) -> None:
    assert profile(api_server) == INTERMEDIATE


@pytest.mark.parametrize(
    ("name", "minimum", "suites"),
    [("Old", "VersionTLS10", 21), ("Intermediate", "VersionTLS12", 9), ("Modern", "VersionTLS13", 3)],
)
def test_profiles(name: str, minimum: str, suites: int) -> None:
    found = profile(said(type=name))
    assert (found.minimum, len(found.suites)) == (minimum, suites)
    assert found.suites[:3] == INTERMEDIATE.suites[:3]
    assert not any("AES_256_CBC_SHA384" in suite or "AES_256_CBC_SHA256" in suite for suite in found.suites)


def test_a_custom_one_keeps_its_order_and_loses_what_go_does_not_have() -> None:
    ciphers = ["DES-CBC3-SHA", "ECDHE-RSA-AES128-GCM-SHA256", "AES256-SHA256", "TLS_AES_128_GCM_SHA256"]
    found = profile(said(type="Custom", custom={"ciphers": ciphers, "minTLSVersion": "VersionTLS11"}))
    assert found == Profile("VersionTLS11", ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", GCM, "TLS_AES_128_GCM_SHA256"))


def test_what_is_no_api_server() -> None:
    with pytest.raises(InvalidInput):
        profile({"spec": []})
