"""Kubeconfigs as text."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import yaml

from mco.pki import authority, kubeconfig

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_kubeconfig_with_a_certificate() -> None:
    signer = authority.create("test", NOW)
    pair = signer.client("me", [], NOW)
    document = yaml.safe_load(kubeconfig.with_certificate("https://h:1", signer.certificate_pem, "me", pair))
    (cluster,), (user,), (context,) = document["clusters"], document["users"], document["contexts"]
    assert cluster["cluster"]["server"] == "https://h:1"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == signer.certificate_pem
    assert base64.b64decode(user["user"]["client-certificate-data"]) == pair.certificate
    assert base64.b64decode(user["user"]["client-key-data"]) == pair.key
    assert context["context"] == {"cluster": cluster["name"], "user": user["name"]}
    assert document["current-context"] == context["name"]


def test_a_kubeconfig_with_a_token() -> None:
    document = yaml.safe_load(kubeconfig.with_token("https://h:1", b"ca", "me", "abcdef.0123456789abcdef"))
    assert document["users"][0]["user"] == {"token": "abcdef.0123456789abcdef"}
