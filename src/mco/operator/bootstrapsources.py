"""An installer's files, as the cluster will have them (spec/operator.md 1.16).

They become the same `Sources` that the operator reads in the cluster while that is new, so that one function
makes the ControllerConfig of both, and the first config that machines boot with is the one that the cluster
renders for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mco.api import names
from mco.api.core import ConfigMap
from mco.api.yaml import load_all
from mco.base.errors import InvalidInput
from mco.operator import bootstrapfiles
from mco.operator.sources import BUNDLE, USERS
from mco.pki.bundle import checked
from mco.plan.installation.cloudconfig import AUTHORITIES_KEY, CONFIG_KEY
from mco.plan.installation.contents import contents
from mco.plan.installation.discovered import Document, Sources
from mco.plan.installation.pullsecret import GLOBAL
from mco.plan.installation.registries import Registries


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """`pull_secret` and `client_ca` are files as they are; `warnings` are sentences."""

    sources: Sources
    pull_secret: bytes
    client_ca: bytes
    warnings: tuple[str, ...] = ()


def read(paths: Mapping[str, Path | None]) -> Found:
    """`paths` by option. Raises InvalidInput that names the option and the file."""
    folder = _Folder(paths)
    infrastructure = folder.manifest("infra-config-file", "Infrastructure", "infrastructure config")
    proxy = folder.manifest("proxy-config-file", "Proxy", "proxy config")
    folder.config_map("config-file", "Cluster Config file")
    trust = folder.trust(proxy)
    client_ca = folder.bundle("kube-ca")
    sources = Sources(
        infrastructure=infrastructure,
        network=folder.manifest("network-config-file", "Network", "network config"),
        dns=folder.manifest("dns-config-file", "DNS", "DNS config"),
        proxy=proxy,
        cloud=folder.cloud(infrastructure),
        trust=trust,
        client_ca=client_ca,
        server_ca=folder.bundle("root-ca"),
        pull_secret=folder.pull_secret(),
        registries=Registries(),
    )
    if not client_ca:
        folder.warnings.append("--kube-ca names no file that is there: kubelets will trust no client by it")
    return Found(
        sources=sources,
        pull_secret=folder.data["pull-secret"],
        client_ca=client_ca,
        warnings=tuple(folder.warnings),
    )


class _Folder:
    """Every file is read before anything is made of one."""

    def __init__(self, paths: Mapping[str, Path | None]) -> None:
        self._paths = paths
        self.warnings: list[str] = []
        self.data = bootstrapfiles.load(paths)

    def manifest(self, option: str, kind: str, what: str) -> Document:
        """One object of a kind."""
        try:
            documents = load_all(self.data[option], self._place(option))
        except InvalidInput as error:
            raise self._wrong(option, f"failed to read {what}: {error.message}") from error
        found = documents[0] if len(documents) == 1 else None
        if not isinstance(found, dict):
            raise self._wrong(option, f"failed to read {what}: expected one {kind}")
        if found.get("kind") != kind:
            got = found.get("kind") or "an object without a kind"
            raise self._wrong(option, f"failed to read {what}: expected {kind} but got {got}")
        return found

    def config_map(self, option: str, what: str) -> ConfigMap:
        document = self.manifest(option, "ConfigMap", what)
        try:
            return msgspec.convert(document, ConfigMap)
        except msgspec.ValidationError as error:
            raise self._wrong(option, f"failed to read {what}: {error}") from error

    def bundle(self, option: str) -> bytes:
        return checked(self.data.get(option, b""), self._place(option))

    def trust(self, proxy: Document) -> tuple[bytes, ...]:
        """Only what the cluster will find, too: it looks for the ConfigMap by its name."""
        option = "additional-trust-bundle-config-file"
        if option not in self.data:
            return ()
        found = self.config_map(option, "Additional Trust Bundle file")
        named = ((proxy.get("spec") or {}).get("trustedCA") or {}).get("name")
        if found.name not in (USERS, named):
            self.warnings.append(
                f"nothing in the cluster will look for ConfigMap/{found.name}: --{option} is ignored"
            )
            return ()
        bundle = checked(contents(found).get(BUNDLE, b""), self._place(option))
        return (bundle,) if bundle else ()

    def cloud(self, infrastructure: Document) -> Mapping[str, str]:
        """As the cluster's own ConfigMap will have it, whatever the key in the installer's."""
        made = {CONFIG_KEY: ""}
        authorities = self.bundle("cloud-provider-ca-file")
        if authorities:
            made[AUTHORITIES_KEY] = authorities.decode()
        wanted = (infrastructure.get("spec") or {}).get("cloudConfig") or {}
        if not wanted.get("name"):
            return made
        option = "cloud-config-file"
        if option not in self.data:
            raise self._wrong(option, "cloud-config file not provided but required by infrastructure")
        data = self.config_map(option, "cloud-config file").data or {}
        key = wanted.get("key") or ""
        made[CONFIG_KEY] = data.get(CONFIG_KEY) or data.get(key) or ""
        if not made[CONFIG_KEY]:
            raise self._wrong(option, f"cloud-config CR doesn't have '{CONFIG_KEY}' or {key} keys")
        return made

    def pull_secret(self) -> Mapping[str, str] | None:
        """What the ControllerConfig says of it: where the cluster finds it."""
        found = self.manifest("pull-secret", "Secret", "PullSecret file").get("metadata") or {}
        wanted = {"name": GLOBAL, "namespace": names.OPENSHIFT_CONFIG}
        if all(found.get(key) == value for key, value in wanted.items()):
            return wanted
        self.warnings.append(
            f"nothing in the cluster will look for the Secret of --pull-secret: it has to be {GLOBAL} "
            f"in namespace {names.OPENSHIFT_CONFIG}"
        )
        return None

    def _place(self, option: str) -> str:
        return f"--{option} {self._paths.get(option) or ''}".rstrip()

    def _wrong(self, option: str, text: str) -> InvalidInput:
        return InvalidInput(text, subject=f"--{option}", path=str(self._paths.get(option) or ""))
