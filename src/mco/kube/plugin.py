"""Credential plugins: a program named in the kubeconfig that prints who we are
(client.authentication.k8s.io).

The result is kept until it expires or is refused; the program runs at most once at a time, without a
terminal.
"""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timedelta
from typing import Any

import msgspec

from mco.api.meta.objects import APIStruct
from mco.base.errors import InvalidInput, Unavailable
from mco.kube.config import Cluster, ExecPlugin
from mco.runtime.clock import Clock, parse_rfc3339

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_TIMEOUT = 60.0
_EARLY = timedelta(seconds=30)


class PluginStatus(APIStruct, frozen=True, kw_only=True):
    """`expiration_timestamp` is RFC 3339; without one the credential holds until it is refused."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None

    @property
    def complete(self) -> bool:
        return bool(self.token or (self.client_certificate_data and self.client_key_data))

    def __repr__(self) -> str:
        return f"PluginStatus(expires={self.expiration_timestamp})"


class _Printed(APIStruct, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    status: PluginStatus | None = None


class Plugin:
    """The credential of one plugin, run when it is needed."""

    def __init__(self, plugin: ExecPlugin, cluster: Cluster, clock: Clock) -> None:
        if plugin.api_version not in _VERSIONS:
            raise InvalidInput(
                f'the credential plugin uses the unknown version "{plugin.api_version}"',
                subject=plugin.command[0],
                hint=f"use {_VERSIONS[0]}",
            )
        self._plugin = plugin
        self._info = _exec_info(plugin, cluster)
        self._clock = clock
        self._lock = asyncio.Lock()
        self._kept: PluginStatus | None = None

    def forget(self) -> None:
        """The server refused it."""
        self._kept = None

    async def status(self) -> PluginStatus:
        """Raises Unavailable when the program fails, InvalidInput when it is missing or prints something
        else."""
        async with self._lock:
            if self._kept is None or self._expires_soon(self._kept):
                self._kept = self._parse(await self._run())
            return self._kept

    def _expires_soon(self, status: PluginStatus) -> bool:
        if not status.expiration_timestamp:
            return False
        return self._clock.now() + _EARLY >= _expiry(status, self._plugin)

    async def _run(self) -> bytes:
        command = self._plugin.command
        environment = {**os.environ, **dict(self._plugin.environment), "KUBERNETES_EXEC_INFO": self._info}
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment
            )
        except OSError as error:
            raise InvalidInput(
                f"cannot run the credential plugin: {error.strerror}",
                subject=command[0],
                hint=self._plugin.install_hint,
            ) from error
        out, err = await self._finish(process)
        if process.returncode != 0:
            last = err.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise Unavailable(
                f"the credential plugin failed with exit code {process.returncode}: {last}",
                subject=command[0],
            )
        return out

    async def _finish(self, process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
        try:
            async with asyncio.timeout(_TIMEOUT):
                return await process.communicate()
        except BaseException as error:
            if process.returncode is None:
                process.kill()
                await process.wait()
            if isinstance(error, TimeoutError):
                name = self._plugin.command[0]
                message = f"the credential plugin did not finish within {_TIMEOUT:.0f} s"
                raise Unavailable(message, subject=name) from error
            raise

    def _parse(self, out: bytes) -> PluginStatus:
        name = self._plugin.command[0]
        try:
            printed = msgspec.json.decode(out, type=_Printed)
        except msgspec.MsgspecError as error:
            # Not the error's text: it could quote a credential.
            raise InvalidInput(
                "the credential plugin did not print an ExecCredential", subject=name
            ) from error
        if printed.api_version != self._plugin.api_version:
            raise InvalidInput(
                f"the credential plugin answered in version {printed.api_version or 'none'}, not in "
                f"{self._plugin.api_version}",
                subject=name,
            )
        status = printed.status
        if status is None or not (
            status.token or (status.client_certificate_data and status.client_key_data)
        ):
            raise InvalidInput("the credential plugin printed no credential", subject=name)
        if status.expiration_timestamp:
            _expiry(status, self._plugin)
        return status


def _expiry(status: PluginStatus, plugin: ExecPlugin) -> datetime:
    try:
        return parse_rfc3339(status.expiration_timestamp or "")
    except ValueError as error:
        raise InvalidInput(
            "the credential plugin printed an expiry that is no time", subject=plugin.command[0]
        ) from error


def _exec_info(plugin: ExecPlugin, cluster: Cluster) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster_info:
        known = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": not cluster.verify,
            "certificate-authority-data": cluster.ca.read() if cluster.ca else b"",
            "proxy-url": cluster.proxy_url,
        }
        spec["cluster"] = {name: value for name, value in known.items() if value}
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(info).decode()
