"""When each config was served last, written where the collector of old configs reads it.

One ConfigMap, an entry per rendered config. A config's mark is there before its first byte is, and is renewed
as long as the config is served; no request writes or waits for it. The map is small: a mark on the config
itself would be a write of up to a megabyte, and would change what is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mco.api import names
from mco.api.resources import CONFIG_MAPS
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, NotFoundError
from mco.runtime.clock import Clock, rfc3339
from mco.runtime.logging import Logger

_log = Logger("mco.configserver")

RENEW_SECONDS = 600.0
"""Far less than a mark lasts (`plan.pool.prune.Limits.served`), far more than a write costs."""


class ServingMarks:
    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def mark(self, configs: Iterable[str]) -> None:
        """Notes that `configs` are served now. Raises what the client raises: what is not marked must not
        be served."""
        data = dict.fromkeys(configs, rfc3339(self._client.server_time or self._clock.now()))
        if not data:
            return
        try:
            await self._patch(data)
        except NotFoundError:
            await self._create(data)

    async def keep(self, served: Callable[[], Iterable[str]]) -> None:
        """Renews the marks of what is `served` until cancelled."""
        while True:
            await self._clock.sleep(RENEW_SECONDS)
            try:
                await self.mark(served())
            except MCOError as error:
                _log.warning("serving marks are not renewed", error=str(error))

    async def _patch(self, data: dict[str, str]) -> None:
        await self._client.patch(CONFIG_MAPS, names.SERVED_MAP, {"data": data}, namespace=names.NAMESPACE)

    async def _create(self, data: dict[str, str]) -> None:
        body = {"metadata": {"name": names.SERVED_MAP}, "data": data}
        try:
            await self._client.create(CONFIG_MAPS, body, namespace=names.NAMESPACE)
        except AlreadyExists:
            await self._patch(data)
