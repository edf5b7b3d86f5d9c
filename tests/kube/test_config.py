"""Where the API server is: kubeconfig files, merged as kubectl merges them, or the pod's service account."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from mco.base.errors import InvalidInput
from mco.kube.config import Material, load
from mco.kube.proxy import proxy_for

ONE = """
apiVersion: v1
kind: Config
current-context: lab
clusters:
- name: lab
  cluster:
    server: https://lab.example:6443/
    certificate-authority-data: {ca}
    tls-server-name: api.lab
users:
- name: admin
  user:
    client-certificate: pki/admin.crt
    client-key: /abs/admin.key
contexts:
- name: lab
  context: {{cluster: lab, user: admin, namespace: team}}
""".format(ca=base64.b64encode(b"CA").decode())

TWO = """
current-context: other
clusters:
- name: lab
  cluster: {server: "https://never.used"}
- name: other
  cluster: {server: "http://127.0.0.1:8080", proxy-url: "socks5://p"}
users:
- name: bot
  user: {tokenFile: token}
contexts:
- name: other
  context: {cluster: other, user: bot}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    one, two = tmp_path / "a" / "one", tmp_path / "b" / "two"
    for path, text in ((one, ONE), (two, TWO)):
        path.parent.mkdir()
        path.write_text(text)
    return one, two


def test_a_file_gives_its_current_context(files: tuple[Path, Path]) -> None:
    cluster = load(files[0], environ={})
    assert (cluster.server, cluster.namespace) == ("https://lab.example:6443", "team")
    assert cluster.ca.read() == b"CA"
    assert cluster.tls_server_name == "api.lab"
    assert cluster.user.certificate.file == str(files[0].parent / "pki/admin.crt")
    assert cluster.user.key.file == "/abs/admin.key"


def test_the_first_file_wins_and_relative_names_are_meant_from_their_own_file(
    files: tuple[Path, Path],
) -> None:
    environ = {"KUBECONFIG": os.pathsep.join(map(str, files))}
    assert load(environ=environ).server == "https://lab.example:6443"
    other = load(environ=environ, context="other")
    assert (other.server, other.proxy_url) == ("http://127.0.0.1:8080", "socks5://p")
    assert other.user.token.file == str(files[1].parent / "token")
    assert load(environ={"KUBECONFIG": os.pathsep.join(map(str, reversed(files)))}, context="lab").server == (
        "https://never.used"
    )


def test_a_listed_file_may_be_missing_but_not_all_of_them(files: tuple[Path, Path], tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert load(environ={"KUBECONFIG": f"{missing}:{files[0]}"}).namespace == "team"
    with pytest.raises(InvalidInput) as caught:
        load(environ={"KUBECONFIG": missing})
    assert caught.value.path == missing


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    for name, text in (("token", "t"), ("ca.crt", "c"), ("namespace", "mco\n")):
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    cluster = load(environ=environ, service_account=tmp_path)
    assert (cluster.server, cluster.namespace) == ("https://[fd00::1]:6443", "mco")
    assert cluster.user.token.file == str(tmp_path / "token")
    assert cluster.ca.file == str(tmp_path / "ca.crt")


def test_the_users_own_kubeconfig_is_the_last_resort(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(ONE)
    assert load(environ={"HOME": str(tmp_path)}).namespace == "team"
    with pytest.raises(InvalidInput) as caught:
        load(environ={"HOME": str(tmp_path / "elsewhere")})
    assert "KUBECONFIG" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "not one mapping", ""),
        ("[]", "not one mapping", ""),
        ("a: b\n---\nc: d", "not one mapping", ""),
        ("{}", "has no current context", "--context"),
        ("current-context: x", 'no context "x"', "known: none"),
        (ONE.replace("cluster: lab,", "cluster: laboratory,"), 'no cluster "laboratory"', "known: lab"),
        (ONE.replace("user: admin,", "user: root,"), 'no user "root"', "known: admin"),
        (ONE.replace("https://lab", "lab"), "is not the URL of an API server", ""),
        (ONE.replace("Q0E=", "'???'"), "certificate-authority-data of the kubeconfig is not base64", ""),
        ("clusters: [{cluster: {}}]", "an entry of clusters needs name and cluster", ""),
        ("users: [1]", "an entry of users needs name and user", ""),
        ("users: {a: b}", "an entry of users needs name and user", ""),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str, hint: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message) as caught:
        load(path, environ={})
    assert str(tmp_path) in caught.value.path
    assert hint in caught.value.hint


@pytest.mark.parametrize("text", ["a: [", "\tb: 1", "a: b: c", "kind: Config"])
def test_what_is_no_yaml_names_the_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"kind: Config\n{text}\n")
    with pytest.raises(InvalidInput, match=r"line [23]") as caught:
        load(path, environ={})
    assert caught.value.subject == str(path)


def test_credentials_are_never_printed(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(TWO.replace("tokenFile: token", "token: s3cret, password: pa55word, username: bot"))
    cluster = load(path, environ={})
    assert cluster.user.token.read() == b"s3cret"
    assert "s3cret" not in repr(cluster)
    assert "pa55word" not in repr(cluster)
    assert repr(Material(file="/x")) == "Material(file='/x')"


@pytest.mark.parametrize(
    ("server", "environ", "expected"),
    [
        ("https://api.example:6443", {}, ""),
        ("https://api.example:6443", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example:6443", {"https_proxy": "p:1"}, "http://p:1"),
        ("https://api.example:6443", {"HTTP_PROXY": "http://p:1"}, ""),
        ("http://api.example", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://localhost:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://127.0.0.2:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x,example"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*.example"}, ""),
        ("https://example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"}, "http://p:1"),
        ("https://myexample", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example"}, "http://p:1"),
        ("https://api.example:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.example:6443"}, ""),
        (
            "https://api.example:6443",
            {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.example:443"},
            "http://p:1",
        ),
        ("https://10.1.2.3:6443", {"HTTPS_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8"}, ""),
        (
            "https://11.1.2.3:6443",
            {"HTTPS_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8, rubbish/x"},
            "http://p:1",
        ),
        ("https://[fd00::1]:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "fd00::1"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, ""),
    ],
)
def test_the_environments_proxy(server: str, environ: dict[str, str], expected: str) -> None:
    assert proxy_for(server, environ) == expected
