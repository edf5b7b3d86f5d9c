"""The authorities of the API server that new machines get, in a ConfigMap for the config server
(spec/operator.md 1.11).

The original waits inside its pass until they stay the same for a minute; here they are looked at in every
pass, and written in the one that finds them so."""

from __future__ import annotations

import base64

from mco.api import names
from mco.api.resources import CONFIG_MAPS
from mco.kube.client import Client
from mco.operator import ensure, lookup
from mco.plan.installation import kubeconfigdata
from mco.plan.installation.contents import contents
from mco.plan.installation.kubeconfigdata import KEY, NAME, Seen
from mco.runtime.clock import Clock


class KubeconfigData:
    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._seen: Seen | None = None
        self._new = False

    async def keep(self, bundle: bytes) -> bool:
        """Whether it was written, and nobody was told yet; `bundle` is what the cluster names, empty where it
        names nothing."""
        if bundle:
            await self._keep(bundle)
        return self._new

    def told(self) -> None:
        self._new = False

    async def _keep(self, bundle: bytes) -> None:
        found = await lookup.found(self._client, CONFIG_MAPS, NAME, namespace=names.NAMESPACE)
        have = contents(found).get(KEY) if found else None
        now = self._clock.monotonic()
        self._seen = kubeconfigdata.seen(self._seen, bundle, now)
        if not kubeconfigdata.due(self._seen, have, now):
            return
        body = {"metadata": {"name": NAME}, "binaryData": {KEY: base64.b64encode(bundle).decode()}}
        if found is None:
            await self._client.create(CONFIG_MAPS, body, namespace=names.NAMESPACE)
        else:
            # The key may not stand in both.
            texts = {"data": {KEY: None}} if KEY in (found.data or {}) else {}
            await ensure.patched(self._client, CONFIG_MAPS, found, {**body, **texts})
        self._new = True
