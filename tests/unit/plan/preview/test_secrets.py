"""What is hidden, and what is not: a preview that hides everything would be of no use."""

from __future__ import annotations

import base64

import pytest

from mco.plan.preview import secrets

PEM = b"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"
CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    "path",
    [
        "/var/lib/kubelet/config.json",
        "/root/.docker/config.json",
        "/etc/mco/internal-registry-pull-secret.json",
        "/etc/kubernetes/kubeconfig",
        "/var/lib/kubelet/kubeconfig",
        "/etc/shadow",
        "/etc/gshadow-",
        "/run/containers/0/auth.json",
        "/etc/pki/tls/private/localhost.crt",
        "/etc/pki/server.key",
        "/etc/pki/server-key.pem",
        "/etc/pki/key.pem",
        "/etc/ssh/ssh_host_ed25519_key",
        "/root/.ssh/id_rsa",
        "/etc/krb5.keytab",
        "/etc/NetworkManager/system-connections/home.nmconnection",
        "/etc/app/token",
        "/etc/app/DB_PASSWORD",
        "/etc/app/aws-credentials",
        "/etc/secrets/anything",
        "/etc/wireguard/wg0.conf",
        "/etc/.netrc",
        "/etc/ppp/chap-secrets",
    ],
)
def test_paths_of_secrets(path: str) -> None:
    assert secrets.in_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/motd",
        "/etc/containers/registries.conf",
        "/etc/containers/policy.json",
        "/etc/kubernetes/kubelet.conf",
        "/etc/kubernetes/kubelet-ca.crt",
        "/etc/kubernetes/credential-providers/ecr.yaml",
        "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
        "/etc/machine-config-daemon/no-reboot/containers-gpg.pub",
        "/etc/ssh/sshd_config.d/10.conf",
        "/etc/ssh/ssh_host_ed25519_key.pub",
        "/root/.ssh/id_rsa.pub",
        "/etc/chrony.conf",
        "/usr/local/bin/monkey.sh",
        "/etc/keyboard.conf",
        "/etc/config.json",
    ],
)
def test_paths_of_others(path: str) -> None:
    assert not secrets.in_path(path)


@pytest.mark.parametrize(
    "contents",
    [
        PEM,
        b"certificate\n" + CERTIFICATE + PEM,
        b"-----BEGIN OPENSSH PRIVATE KEY-----",
        b"-----BEGIN PGP PRIVATE KEY BLOCK-----",
        b"data: " + base64.b64encode(PEM),
        b'{"auths": {}}',
        b'{"x": {"auth": "dXNlcjpwYXNz"}}',
        b"root:$6$salt$aVeryLongHashOfAPassword:19000:0:99999:7:::",
        b"hash: $y$j9T$abcdefgh$ijklmnop",
        b"hash: $2b$12$abcdefghijklmnopqrstuv",
        b"PASSWORD=x",
        b"  password: x",
        b'"db_password": "x"',
        b"db.passwd = x",
        b'Environment="API_KEY=x"',
        b"Environment=ACCESS_TOKEN=x",
        b"client-key-data: x",
        b"aws_secret_access_key = x",
        b"psk=hunter2",
        b"password: |\n  hunter2\n",
        b"Authorization: Bearer abcdefgh12345678",
        b"Authorization: Basic dXNlcjpwYXNz",
        b"proxy = http://user:hunter2@proxy:3128",
        b"https://:hunter2@host/",
        b"AKIAIOSFODNN7EXAMPLE",
        b"ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        b"sha256~abcdefghijklmnopqrstuvwxyz",
        b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        b"abcdef.0123456789abcdef",
        b"AGE-SECRET-KEY-1QQQ",
        b"\0\1binary password=x",
    ],
)
def test_contents_with_secrets(contents: bytes) -> None:
    assert secrets.in_contents(contents)
    assert secrets.in_contents(b"first line\n" * 50 + contents + b"\nlast line\n" * 50)


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"welcome\n",
        CERTIFICATE,
        b"PasswordAuthentication no\n",
        b"auth required pam_unix.so\npassword sufficient pam_unix.so sha512\n",
        b"[[registry]]\nlocation = 'quay.io'\nmirror-by-digest-only = true\n",
        b"[Service]\nExecStart=/usr/bin/kubelet --kubeconfig=/var/lib/kubelet/kubeconfig\n",
        b"[crio.image]\nglobal_auth_file = '/var/lib/kubelet/config.json'\n",
        b"server 0.pool.ntp.org iburst\nkeyfile /etc/chrony.keys\n",
        b"authentication:\n  anonymous:\n    enabled: false\n",
        b"image: quay.io/a/b@sha256:" + b"0" * 64,
        b"http://proxy.example.com:3128/",
        b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@host",
        b"monkey: banana\n",
    ],
)
def test_contents_without(contents: bytes) -> None:
    assert not secrets.in_contents(contents)


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("nosmt", "nosmt"),
        ("console=ttyS0", "console=ttyS0"),
        ("root.password=hunter2", "root.password=***"),
        ("proxy=http://me:hunter2@host", "proxy=***"),
        ("ghp_abcdefghijklmnopqrstuvwxyz=1", "***"),
        ("http://me:hunter2@host", "***"),
        ("quay.io/a/b@sha256:00", "quay.io/a/b@sha256:00"),
    ],
)
def test_words(argument: str, shown: str) -> None:
    assert secrets.masked(argument) == shown
