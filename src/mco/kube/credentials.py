"""Credentials in use: the TLS context and the Authorization header, kept current with the files behind them.

A kubelet rotates a pod's token, a daemon renews its client certificate: the files change under a running
process. Before each request the files' identity is compared (one `stat` each); after a change they are read
again. A pair of certificate and key that does not fit together yet (it is being replaced) leaves the former
one in use.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile

from mco.base.errors import InvalidInput, Unavailable
from mco.kube.config import Cluster, Material
from mco.runtime.logging import Logger

_log = Logger("mco.kube.credentials")

Stamp = tuple[int, int, int]


class Credentials:
    """`generation` grows when the TLS identity changed: connections of an older generation carry an old
    one."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stamps: dict[str, Stamp | None] = {}
        self._authorization = ""
        self.generation = 0
        self.context: ssl.SSLContext | None = self._new_context()
        self._watch_tls_files()

    def refresh(self) -> None:
        """Read again what changed on disk. Raises Unavailable when there is no token to be had at all."""
        user = self._cluster.user
        if self.context is not None and self._watch_tls_files():
            self._replace_context()
        if not user.token.file:
            return
        if self._changed(user.token) or not self._authorization:
            self._authorization = ""
            self._authorization = f"Bearer {_text(user.token)}"

    def forget_token(self) -> None:
        """The server refused it: read the file again before the next request, changed or not."""
        self._stamps.pop(self._cluster.user.token.file, None)

    @property
    def headers(self) -> dict[str, str]:
        user = self._cluster.user
        if user.token.data:
            return {"Authorization": f"Bearer {_text(user.token)}"}
        if self._authorization:
            return {"Authorization": self._authorization}
        if user.username:
            pair = f"{user.username}:".encode() + user.password.read()
            return {"Authorization": "Basic " + base64.b64encode(pair).decode()}
        return {}

    def _replace_context(self) -> None:
        try:
            self.context = self._new_context()
        except (InvalidInput, Unavailable) as error:
            _log.warning("keeping the former client certificate", error=error.message, path=error.path)
        else:
            self.generation += 1

    def _new_context(self) -> ssl.SSLContext | None:
        cluster = self._cluster
        if not cluster.server.startswith("https://"):
            return None
        context = ssl.create_default_context()
        if cluster.ca:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            _load_ca(context, cluster.ca)
        if not cluster.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if cluster.user.certificate:
            _load_identity(context, cluster.user.certificate, cluster.user.key)
        return context

    def _watch_tls_files(self) -> bool:
        """Whether any file of the TLS identity changed since the last call."""
        user = self._cluster.user
        changes = [self._changed(m) for m in (self._cluster.ca, user.certificate, user.key) if m.file]
        return any(changes)

    def _changed(self, material: Material) -> bool:
        stamp = _stamp(material.file)
        changed = self._stamps.get(material.file) != stamp
        self._stamps[material.file] = stamp
        return changed


def _stamp(file: str) -> Stamp | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _text(token: Material) -> str:
    text = token.read().decode("ascii", "replace").strip()
    if not text or not text.isprintable():
        raise InvalidInput("the token is empty or not printable", path=token.file)
    return text


def _load_ca(context: ssl.SSLContext, ca: Material) -> None:
    try:
        context.load_verify_locations(cadata=ca.read().decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise InvalidInput("the certificate authority is not PEM", path=ca.file) from error


def _load_identity(context: ssl.SSLContext, certificate: Material, key: Material) -> None:
    """OpenSSL loads from files only: inline material passes through a private file that is gone at once."""
    with tempfile.NamedTemporaryFile(prefix="mco-identity-") as pair:
        pair.write(certificate.read() + b"\n" + key.read())
        pair.flush()
        try:
            context.load_cert_chain(pair.name)
        except (ssl.SSLError, OSError) as error:
            where = certificate.file or key.file
            raise InvalidInput("client certificate and key do not fit together", path=where) from error
