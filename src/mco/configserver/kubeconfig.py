"""The kubeconfig with which a machine joins: `/etc/kubernetes/kubeconfig` (spec/operator.md 3.4)."""

from __future__ import annotations

import base64
import json

import msgspec

from mco.base.errors import InvalidInput


class Endpoint(msgspec.Struct, frozen=True):
    """Where the API is, and the authorities that its certificate is checked with (PEM)."""

    server: str
    authorities: bytes


def bootstrap_kubeconfig(endpoint: Endpoint, token: str) -> bytes:
    """YAML: cluster `local`, user and context `kubelet`. Every value is quoted as JSON, which YAML reads."""
    authorities = base64.b64encode(endpoint.authorities).decode()
    return f"""\
apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: {json.dumps(endpoint.server)}
    certificate-authority-data: {json.dumps(authorities)}
users:
- name: kubelet
  user:
    token: {json.dumps(token)}
contexts:
- name: kubelet
  context:
    cluster: local
    user: kubelet
current-context: kubelet
""".encode()


def check_token(token: str) -> str:
    """`token` if it can stand in a header and in the kubeconfig as it is: no blank, quote, control character.

    Raises InvalidInput otherwise, without showing it."""
    if not token or not token.isascii() or not token.isprintable() or set(token) & set("\"\\' "):
        raise InvalidInput("the bootstrap token is empty or holds characters that no token has")
    return token
