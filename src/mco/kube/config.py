"""Where the API server is and who we are there: kubeconfig files, or the service account of a pod.

`load()` decides; what it returns is plain data. Files that may change while we run (tokens, certificates)
stay file names in it and are read by `credentials.py` when they are needed.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mco.api.yaml import load_all
from mco.base.errors import InvalidInput, Unavailable
from mco.kube.proxy import proxy_for

HOST_VARIABLE = "KUBERNETES_SERVICE_HOST"
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """A credential given inline or as a file that may be replaced while we run; never printed."""

    data: bytes = b""
    file: str = ""

    def __bool__(self) -> bool:
        return bool(self.data or self.file)

    def __repr__(self) -> str:
        return (
            f"Material(file={self.file!r})"
            if self.file
            else "Material(inline)"
            if self.data
            else "Material()"
        )

    def read(self) -> bytes:
        """Raises Unavailable when the file cannot be read now."""
        if not self.file:
            return self.data
        try:
            return Path(self.file).read_bytes()
        except OSError as error:
            raise Unavailable(f"cannot read a credential: {error.strerror}", path=self.file) from error


class ExecPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A program that prints an ExecCredential (client.authentication.k8s.io/v1 or v1beta1)."""

    command: tuple[str, ...]
    api_version: str
    environment: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    cluster_info: bool = False


class User(msgspec.Struct, frozen=True, kw_only=True):
    """How we prove who we are; all empty means anonymous."""

    token: Material = Material()
    certificate: Material = Material()
    key: Material = Material()
    username: str = ""
    password: Material = Material()
    plugin: ExecPlugin | None = None


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """`server` is a URL, `namespace` the one of the context (for a pod: its own)."""

    server: str
    namespace: str = "default"
    ca: Material = Material()
    verify: bool = True
    tls_server_name: str = ""
    proxy_url: str = ""
    user: User = User()


def load(
    kubeconfig: Path | None = None,
    *,
    context: str = "",
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Cluster:
    """The cluster of `kubeconfig`; without one of the files in $KUBECONFIG; else of the pod we run in; else
    of ~/.kube/config. The environment's proxy is used where the kubeconfig names none. Raises InvalidInput
    when none of them exists or one is wrong."""
    found = _find(kubeconfig, context, environ, service_account)
    if found.proxy_url:
        return found
    return msgspec.structs.replace(found, proxy_url=proxy_for(found.server, environ))


def _find(
    kubeconfig: Path | None, context: str, environ: Mapping[str, str], service_account: Path
) -> Cluster:
    if kubeconfig is not None:
        return from_files([kubeconfig], context)
    listed = [Path(name) for name in environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    if listed:
        # As kubectl: a listed file may be missing, as long as one is there.
        return from_files([path for path in listed if path.exists()] or listed[:1], context)
    if HOST_VARIABLE in environ and (service_account / "token").exists():
        return in_cluster(environ, service_account)
    home = Path(environ.get("HOME", "/")) / ".kube" / "config"
    if not home.exists():
        raise InvalidInput(
            "no cluster is configured", hint="pass --kubeconfig, set KUBECONFIG, or create ~/.kube/config"
        )
    return from_files([home], context)


def in_cluster(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Cluster:
    """The cluster whose service account is mounted into our pod; the token there is rotated by the
    kubelet."""
    host, port = environ[HOST_VARIABLE], environ.get("KUBERNETES_SERVICE_PORT", "443")
    namespace = folder / "namespace"
    return Cluster(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        ca=Material(file=str(folder / "ca.crt")),
        user=User(token=Material(file=str(folder / "token"))),
    )


def from_files(paths: Iterable[Path], context: str = "") -> Cluster:
    """Merge kubeconfig files as kubectl does and resolve `context`, or the current one."""
    return resolve(merge([_read(path) for path in paths]), context)


class _Entry(msgspec.Struct, frozen=True):
    """One named cluster, user or context, and the file it stands in, from where its file names are meant."""

    body: Mapping[str, Any]
    source: Path

    def beside(self, name: str) -> str:
        return str(self.source.absolute().parent / name)


class Kubeconfig(msgspec.Struct, frozen=True, kw_only=True):
    current_context: str = ""
    clusters: Mapping[str, _Entry]
    users: Mapping[str, _Entry]
    contexts: Mapping[str, _Entry]
    source: str = ""


def merge(files: Sequence[Kubeconfig]) -> Kubeconfig:
    """The first file that sets a name or the current context wins."""
    clusters: dict[str, _Entry] = {}
    users: dict[str, _Entry] = {}
    contexts: dict[str, _Entry] = {}
    for config in reversed(files):
        clusters.update(config.clusters)
        users.update(config.users)
        contexts.update(config.contexts)
    return Kubeconfig(
        current_context=next((f.current_context for f in files if f.current_context), ""),
        clusters=clusters,
        users=users,
        contexts=contexts,
        source=os.pathsep.join(f.source for f in files),
    )


def resolve(config: Kubeconfig, context: str = "") -> Cluster:
    """The cluster and user of a context. Raises InvalidInput naming what is missing."""
    name = context or config.current_context
    if not name:
        raise InvalidInput("the kubeconfig has no current context", path=config.source, hint="pass --context")
    chosen = _lookup(config, config.contexts, "context", name)
    cluster = _lookup(config, config.clusters, "cluster", str(chosen.body.get("cluster", "")))
    user_name = str(chosen.body.get("user", ""))
    user = _lookup(config, config.users, "user", user_name) if user_name else _Entry({}, chosen.source)
    server = str(cluster.body.get("server", ""))
    if not server.startswith(("https://", "http://")):
        raise InvalidInput(f'"{server}" is not the URL of an API server', path=config.source)
    return Cluster(
        server=server.rstrip("/"),
        namespace=str(chosen.body.get("namespace") or "default"),
        ca=_material(cluster, "certificate-authority"),
        verify=not cluster.body.get("insecure-skip-tls-verify", False),
        tls_server_name=str(cluster.body.get("tls-server-name", "")),
        proxy_url=str(cluster.body.get("proxy-url", "")),
        user=_user(user),
    )


def only_cluster(config: Kubeconfig) -> tuple[str, bytes]:
    """URL and authorities of a kubeconfig that names one cluster and nobody who uses it, as kubeadm's
    cluster-info. Raises InvalidInput for any other one."""
    if len(config.clusters) != 1:
        raise InvalidInput(f"the kubeconfig names {len(config.clusters)} clusters", path=config.source)
    (entry,) = config.clusters.values()
    return str(entry.body.get("server", "")), _material(entry, "certificate-authority").read()


def parse(text: bytes, source: Path) -> Kubeconfig:
    """One kubeconfig. Raises InvalidInput with the file when it is none."""
    documents = load_all(text, str(source))
    document = documents[0] if len(documents) == 1 else None
    if not isinstance(document, dict):
        raise InvalidInput("the kubeconfig is not one mapping", path=str(source))
    return Kubeconfig(
        current_context=str(document.get("current-context") or ""),
        clusters=_named(document, "clusters", "cluster", source),
        users=_named(document, "users", "user", source),
        contexts=_named(document, "contexts", "context", source),
        source=str(source),
    )


def _read(path: Path) -> Kubeconfig:
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        raise InvalidInput("the kubeconfig does not exist", path=str(path)) from error
    except OSError as error:
        raise InvalidInput(f"cannot read the kubeconfig: {error.strerror}", path=str(path)) from error
    return parse(text, path)


def _named(document: Mapping[str, Any], plural: str, singular: str, source: Path) -> dict[str, _Entry]:
    entries: dict[str, _Entry] = {}
    for position, item in enumerate(document.get(plural) or ()):
        body = item.get(singular) if isinstance(item, dict) else None
        if not isinstance(body, dict | None) or not isinstance(item, dict) or "name" not in item:
            raise InvalidInput(
                f"an entry of {plural} needs name and {singular}", path=f"{source}: $.{plural}[{position}]"
            )
        entries.setdefault(str(item["name"]), _Entry(body or {}, source))
    return entries


def _lookup(config: Kubeconfig, entries: Mapping[str, _Entry], kind: str, name: str) -> _Entry:
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise InvalidInput(
            f'the kubeconfig has no {kind} "{name}"', path=config.source, hint=f"known: {known}"
        )
    return entries[name]


def _user(entry: _Entry) -> User:
    body = entry.body
    token = _file(entry, body.get("tokenFile")) or Material(data=str(body.get("token", "")).encode())
    return User(
        token=token,
        certificate=_material(entry, "client-certificate"),
        key=_material(entry, "client-key"),
        username=str(body.get("username", "")),
        password=Material(data=str(body.get("password", "")).encode()),
        plugin=_plugin(entry),
    )


def _plugin(entry: _Entry) -> ExecPlugin | None:
    body = entry.body.get("exec")
    if not isinstance(body, dict):
        return None
    command = str(body.get("command", ""))
    if "/" in command:
        command = entry.beside(command)
    return ExecPlugin(
        command=(command, *map(str, body.get("args") or ())),
        api_version=str(body.get("apiVersion", "")),
        environment=tuple((str(pair["name"]), str(pair["value"])) for pair in body.get("env") or ()),
        install_hint=str(body.get("installHint", "")),
        cluster_info=bool(body.get("provideClusterInfo", False)),
    )


def _material(entry: _Entry, name: str) -> Material:
    """`<name>-data` (base64) wins over the file `<name>`, as in kubectl."""
    inline = entry.body.get(f"{name}-data")
    if not inline:
        return _file(entry, entry.body.get(name))
    try:
        return Material(data=base64.b64decode(inline, validate=True))
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(f"{name}-data of the kubeconfig is not base64", path=str(entry.source)) from error


def _file(entry: _Entry, name: Any) -> Material:
    return Material(file=entry.beside(str(name))) if name else Material()
