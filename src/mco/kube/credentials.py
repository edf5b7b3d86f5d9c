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
from mco.kube.config import Cluster, Material, User
from mco.kube.plugin import Plugin, PluginStatus
from mco.runtime.clock import Clock, SystemClock
from mco.runtime.logging import Logger

_log = Logger("mco.kube.credentials")

Stamp = tuple[int, int, int]


class Credentials:
    """`generation` grows when the TLS identity changed: connections of an older generation carry an old
    one."""

    def __init__(self, cluster: Cluster, clock: Clock | None = None) -> None:
        self._cluster = cluster
        self._plugin = (
            Plugin(cluster.user.plugin, cluster, clock or SystemClock()) if cluster.user.plugin else None
        )
        self._stamps: dict[str, Stamp | None] = {}
        self._authorization = _basic(cluster.user)
        self._identity = (cluster.user.certificate, cluster.user.key)
        self.generation = 0
        # Before the files are read: what changes in between is then read twice, not missed.
        self._tls_files_changed()
        self.context: ssl.SSLContext | None = self._new_context()

    async def refresh(self) -> None:
        """Read again what changed on disk; run a plugin whose credential is missing or expired. Raises
        Unavailable or InvalidInput when there is no credential to be had at all."""
        if self.context is not None and self._tls_files_changed():
            self._replace_context()
        token = self._cluster.user.token
        if self._plugin is not None:
            self._use(await self._plugin.status())
        elif token and (self._changed(token) or not self._authorization):
            self._read_token(token)

    def forget(self) -> None:
        """The server refused us: look again before the next request, changed or not."""
        self._stamps.pop(self._cluster.user.token.file, None)
        if self._plugin is not None:
            self._plugin.forget()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": self._authorization} if self._authorization else {}

    def _read_token(self, token: Material) -> None:
        try:
            self._authorization = f"Bearer {_text(token)}"
        except (InvalidInput, Unavailable) as error:
            # Read it again before the next request; until then the former one may still be good.
            self._stamps.pop(token.file, None)
            if not self._authorization:
                raise
            _log.warning("keeping the former token", error=error.message, path=error.path)

    def _use(self, status: PluginStatus) -> None:
        self._authorization = f"Bearer {status.token}" if status.token else self._authorization
        identity = (
            Material(data=status.client_certificate_data.encode()),
            Material(data=status.client_key_data.encode()),
        )
        if identity[0] and identity != self._identity:
            self._identity = identity
            self._replace_context()

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
        if cluster.ca:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            _load_ca(context, cluster.ca)
        else:
            context = ssl.create_default_context()
        if not cluster.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate, key = self._identity
        if certificate:
            _load_identity(context, certificate, key)
        return context

    def _tls_files_changed(self) -> bool:
        """Whether any file of the TLS identity changed since the last call."""
        materials = (self._cluster.ca, *self._identity)
        changes = [self._changed(material) for material in materials if material.file]
        return any(changes)

    def _changed(self, material: Material) -> bool:
        stamp = _stamp(material.file) if material.file else None
        changed = material.file not in self._stamps or self._stamps[material.file] != stamp
        self._stamps[material.file] = stamp
        return changed


def _basic(user: User) -> str:
    if not user.username:
        return ""
    pair = f"{user.username}:".encode() + user.password.read()
    return "Basic " + base64.b64encode(pair).decode()


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
