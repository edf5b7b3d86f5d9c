"""What the cluster says of its image registries, and the one ConfigMap that is made of it
(spec/operator.md 1.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mco.api import names
from mco.api.core import Secret
from mco.api.names import OPENSHIFT_CONFIG, OPENSHIFT_CONFIG_MANAGED
from mco.api.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from mco.base.errors import NotFound
from mco.kube.client import Client
from mco.kube.wholes import Wholes
from mco.operator import ensure, lookup
from mco.payload.ensure import difference
from mco.plan.installation import pullsecret, registries
from mco.plan.installation.contents import contents
from mco.plan.installation.registries import Bundles, Registries
from mco.runtime.logging import Logger

_log = Logger("mco.operator")


class RegistryReader:
    def __init__(self, client: Client, wholes: Wholes) -> None:
        self._client = client
        self._wholes = wholes

    async def read(self, dns: Mapping[str, Any] | None, *, settled: bool) -> Registries:
        """Until the cluster is `settled` there are no credentials for its own registry: those that made the
        first rendered config had none either (spec/operator.md 0.1). Raises InvalidInput, NotFound, and what
        the client raises."""
        return Registries(
            managed=await self._bundles(OPENSHIFT_CONFIG_MANAGED, registries.MANAGED) or {},
            users=await self._users(),
            pull_secret=await self._pull_secret(dns) if settled else b"",
        )

    async def _users(self) -> Bundles:
        image = await lookup.setting(self._wholes, "Image") or {}
        name = ((image.get("spec") or {}).get("additionalTrustedCA") or {}).get("name")
        if not name:
            return {}
        found = await self._bundles(OPENSHIFT_CONFIG, name)
        if found is None:
            _log.warning(
                "the ConfigMap of trusted registries is not there",
                configmap=f"{OPENSHIFT_CONFIG}/{name}",
            )
        return found or {}

    async def _bundles(self, namespace: str, name: str) -> Bundles | None:
        found = await lookup.found(self._client, CONFIG_MAPS, name, namespace=namespace)
        return None if found is None else contents(found)

    async def _pull_secret(self, dns: Mapping[str, Any] | None) -> bytes:
        if await lookup.setting(self._wholes, "ClusterOperator", pullsecret.OPERATOR) is None:
            return b""
        account = await lookup.found(
            self._client, SERVICE_ACCOUNTS, pullsecret.ACCOUNT, namespace=names.NAMESPACE
        )
        if account is None:
            _log.warning("the account that pulls from the registry is not there", account=pullsecret.ACCOUNT)
            return b""
        secrets = await self._secrets([each.name for each in account.image_pull_secrets or ()])
        cluster = await lookup.found(self._client, SECRETS, pullsecret.GLOBAL, namespace=OPENSHIFT_CONFIG)
        if cluster is None:
            raise NotFound(
                f'error fetching cluster pull secret: secret "{pullsecret.GLOBAL}" not found',
                subject=f"Secret/{OPENSHIFT_CONFIG}/{pullsecret.GLOBAL}",
            )
        domain = ((dns or {}).get("spec") or {}).get("baseDomain") or ""
        return pullsecret.merged(secrets, cluster, domain)

    async def _secrets(self, wanted: Sequence[str]) -> list[Secret]:
        made = []
        for name in wanted:
            secret = await lookup.found(self._client, SECRETS, name, namespace=names.NAMESPACE)
            if secret is None:
                text = f'failed to retrieve image pull secret {name}: secret "{name}" not found'
                raise NotFound(text, subject=f"Secret/{names.NAMESPACE}/{name}")
            made.append(secret)
        return made


async def keep_merged(client: Client, found: Registries) -> None:
    """Also when nothing is left to trust; writes nothing when it is right."""
    wanted = registries.merged(found)
    have = await lookup.found(client, CONFIG_MAPS, registries.MERGED, namespace=OPENSHIFT_CONFIG_MANAGED)
    if have is None:
        await client.create(CONFIG_MAPS, wanted, namespace=OPENSHIFT_CONFIG_MANAGED)
        return
    stored = {"data": have.data or {}, "binaryData": have.binary_data or {}}
    changes = {key: difference(stored[key], wanted[key]) for key in stored if stored[key] != wanted[key]}
    missing = ensure.missing_metadata(have, wanted["metadata"])
    if changes or missing:
        await ensure.patched(client, CONFIG_MAPS, have, {**changes, "metadata": missing})
