"""What the cluster says of itself, for the ControllerConfig (spec/operator.md 1.5, 1.6).

OpenShift's own kinds where they are served. What they do not say may stand in the ConfigMap `cluster-config`
of our namespace, a document per key: `infrastructure.yaml`, `network.yaml`, `dns.yaml`, `proxy.yaml`,
`apiserver.yaml`. A plain cluster needs neither. Options of the controllers stand in its `controller.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api import names
from mco.api.core import ConfigMap
from mco.api.meta.objects import APIStruct, Object
from mco.api.names import OPENSHIFT_CONFIG, OPENSHIFT_CONFIG_MANAGED
from mco.api.resources import CONFIG_MAPS, SECRETS, Resource
from mco.api.yaml import load_all
from mco.base.errors import InvalidInput, NotFound
from mco.kube.client import Client
from mco.kube.wholes import Wholes
from mco.operator import lookup
from mco.operator.registries import RegistryReader
from mco.pki.bundle import checked, replaced
from mco.plan.installation import cloudconfig, controlleroptions
from mco.plan.installation.bootimages import UNKNOWN_RELEASE, install_version
from mco.plan.installation.contents import contents
from mco.plan.installation.controlleroptions import ControllerOptions
from mco.plan.installation.discovered import Document, Sources
from mco.plan.installation.pullsecret import GLOBAL

LOOK_AGAIN = 30.0
"""Seconds for which what was read is used."""
OWN_MAP = "cluster-config"
SERVER_AUTHORITIES = "machine-config-server-ca"
INITIAL_AUTHORITIES = "initial-kube-apiserver-server-ca"
SYSTEM = "kube-system"
BUNDLE, USERS = "ca-bundle.crt", "user-ca-bundle"
_SIGNER_OPERATOR, _SIGNER = "openshift-kube-apiserver-operator", "kube-apiserver-to-kubelet-client-ca"
_SIGNER_NAME = "kube-apiserver-to-kubelet-signer"


FAIL_SWAP_ON = "failswapon: KubeletConfig setting is currently unsupported by OpenShift"
RUNC = "runc: transition to default crun"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """`history`: the cluster's versions, the newest first; `installed`: the one that it began with; `gates`:
    the features that are on. `findings` as `plan.installation.conditions` puts them into a condition."""

    history: tuple[str, ...] = ()
    installed: str = UNKNOWN_RELEASE
    gates: frozenset[str] = frozenset()
    findings: tuple[str, ...] = ()


class _Settings(APIStruct, frozen=True, kw_only=True):
    kubelet_config: dict[str, Any] = msgspec.field(default_factory=dict)
    container_runtime_config: dict[str, Any] = msgspec.field(default_factory=dict)


class _Configured(Object, frozen=True, kw_only=True):
    spec: _Settings = msgspec.field(default_factory=_Settings)


_KUBELET_CONFIGS = Resource(names.GROUP, names.VERSION, "kubeletconfigs", "KubeletConfig", _Configured)
_RUNTIME_CONFIGS = Resource(
    names.GROUP, names.VERSION, "containerruntimeconfigs", "ContainerRuntimeConfig", _Configured
)


class Reader:
    """Reads them all; `wholes` remembers which kinds there are."""

    def __init__(self, client: Client, wholes: Wholes) -> None:
        self._client = client
        self._wholes = wholes
        self._registries = RegistryReader(client, wholes)

    async def read(self, *, bring_up: bool) -> Sources:
        """Raises InvalidInput for what cannot be used, NotFound for what every cluster of OpenShift's
        has, and what the client raises."""
        own = await self._own()
        infrastructure = await self._document("Infrastructure", own)
        found = Sources(
            infrastructure=infrastructure,
            network=await self._document("Network", own),
            dns=await self._document("DNS", own),
            proxy=await self._document("Proxy", own),
            api_server=await self._document("APIServer", own),
            os_images=await self._data(names.NAMESPACE, "machine-config-osimageurl"),
            controller=_controller_options(own),
        )
        if infrastructure is None or "infrastructure.yaml" in own:
            return msgspec.structs.replace(found, server_ca=await self._server_authorities() or b"")
        return await self._openshift(found, bring_up=bring_up)

    async def _openshift(self, found: Sources, *, bring_up: bool) -> Sources:
        """What only its clusters have, in namespaces of theirs."""
        for kind, document in (("networks", found.network), ("dnses", found.dns)):
            if document is None:
                raise NotFound(f'{kind}.config.openshift.io "cluster" not found', subject=f"{kind}/cluster")
        settled = not bring_up and await self._map(SYSTEM, "bootstrap") is not None
        server_ca = await self._server_authorities()
        return msgspec.structs.replace(
            found,
            cloud=await self._data(OPENSHIFT_CONFIG_MANAGED, cloudconfig.NAME),
            trust=await self._trust(found.proxy),
            client_ca=await self._client_authorities(settled),
            server_ca=server_ca if server_ca is not None else await self._bundle(SYSTEM, "root-ca", "ca.crt"),
            api_ca=await self._bundle_if_any(OPENSHIFT_CONFIG_MANAGED, "kube-apiserver-server-ca") or b"",
            pull_secret=await self._pull_secret(),
            registries=await self._registries.read(found.dns, settled=settled),
        )

    async def facts(self) -> Facts:
        """What speaks against an upgrade of the cluster, or will one day."""
        version = await lookup.setting(self._wholes, "ClusterVersion", "version") or {}
        gates = await lookup.setting(self._wholes, "FeatureGate") or {}
        history = (version.get("status") or {}).get("history") or ()
        enabled = {
            gate["name"]
            for entry in (gates.get("status") or {}).get("featureGates") or ()
            for gate in entry.get("enabled") or ()
        }
        return Facts(
            history=tuple(entry.get("version", "") for entry in history),
            installed=install_version(history),
            gates=frozenset(enabled),
            findings=await self._findings(),
        )

    async def _findings(self) -> tuple[str, ...]:
        kubelets = await self._client.list(_KUBELET_CONFIGS)
        runtimes = await self._client.list(_RUNTIME_CONFIGS)
        swap = any(c.spec.kubelet_config.get("failSwapOn") is False for c in kubelets.items)
        runc = any(c.spec.container_runtime_config.get("defaultRuntime") == "runc" for c in runtimes.items)
        return ((FAIL_SWAP_ON,) if swap else ()) + ((RUNC,) if runc else ())

    async def _own(self) -> Mapping[str, str]:
        return await self._data(names.NAMESPACE, OWN_MAP) or {}

    async def _document(self, kind: str, own: Mapping[str, str]) -> Document | None:
        key = f"{kind.lower()}.yaml"
        if key in own:
            return _parsed(own[key], key)
        return await lookup.setting(self._wholes, kind)

    async def _trust(self, proxy: Document | None) -> tuple[bytes, ...]:
        found = [await self._bundle_if_any(OPENSHIFT_CONFIG, USERS) or b""]
        trusted = (((proxy or {}).get("spec") or {}).get("trustedCA") or {}).get("name")
        if trusted and trusted != USERS:
            found.append(await self._bundle(OPENSHIFT_CONFIG, trusted))
        return tuple(bundle for bundle in found if bundle)

    async def _client_authorities(self, settled: bool) -> bytes:
        """Until the cluster's own bootstrap is complete, those that its bootstrap had: the first config
        that is rendered here then has the hash of the one that machines booted with
        (spec/operator.md 0.1)."""
        if settled:
            return await self._bundle(OPENSHIFT_CONFIG_MANAGED, "kube-apiserver-client-ca")
        initial = await self._bundle(OPENSHIFT_CONFIG, INITIAL_AUTHORITIES)
        signer = await self._bundle_if_any(_SIGNER_OPERATOR, _SIGNER)
        return replaced(initial, _SIGNER_NAME, signer or b"")

    async def _server_authorities(self) -> bytes | None:
        return await self._bundle_if_any(names.NAMESPACE, SERVER_AUTHORITIES)

    async def _pull_secret(self) -> Mapping[str, str] | None:
        if await lookup.found(self._client, SECRETS, GLOBAL, namespace=OPENSHIFT_CONFIG) is None:
            return None
        return {"name": GLOBAL, "namespace": OPENSHIFT_CONFIG}

    async def _bundle(self, namespace: str, name: str, key: str = BUNDLE) -> bytes:
        return _authorities(await self._client.get(CONFIG_MAPS, name, namespace=namespace), key)

    async def _bundle_if_any(self, namespace: str, name: str) -> bytes | None:
        found = await self._map(namespace, name)
        return None if found is None else _authorities(found, BUNDLE)

    async def _data(self, namespace: str, name: str) -> Mapping[str, str] | None:
        found = await self._map(namespace, name)
        return None if found is None else found.data or {}

    async def _map(self, namespace: str, name: str) -> ConfigMap | None:
        return await lookup.found(self._client, CONFIG_MAPS, name, namespace=namespace)


def _authorities(found: ConfigMap, key: str) -> bytes:
    place = f"configmap {found.metadata.namespace}/{found.name}"
    return checked(contents(found).get(key, b""), place)


def _controller_options(own: Mapping[str, str]) -> ControllerOptions:
    key = controlleroptions.KEY
    return controlleroptions.read(_parsed(own[key], key)) if key in own else ControllerOptions()


def _parsed(text: str, key: str) -> dict[str, Any]:
    documents = load_all(text.encode(), f"ConfigMap/{names.NAMESPACE}/{OWN_MAP}, {key}")
    if len(documents) == 1 and isinstance(documents[0], dict):
        return documents[0]
    raise InvalidInput(
        f"{key} is not one object",
        subject=f"ConfigMap/{names.NAMESPACE}/{OWN_MAP}",
        path=f"$.data['{key}']",
        hint="it holds one object, as YAML",
    )
